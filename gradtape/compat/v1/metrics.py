"""Metrics kept in local variables of a graph: each function gives a value and the operation that adds a batch."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.v1.ops.metric_counts import (
    auc as auc,
    false_negatives as false_negatives,
    false_negatives_at_thresholds as false_negatives_at_thresholds,
    false_positives as false_positives,
    false_positives_at_thresholds as false_positives_at_thresholds,
    precision as precision,
    precision_at_thresholds as precision_at_thresholds,
    recall as recall,
    recall_at_thresholds as recall_at_thresholds,
    true_negatives as true_negatives,
    true_negatives_at_thresholds as true_negatives_at_thresholds,
    true_positives as true_positives,
    true_positives_at_thresholds as true_positives_at_thresholds,
)
from gradtape._src.v1.ops.metrics import (
    accuracy as accuracy,
    mean as mean,
    mean_absolute_error as mean_absolute_error,
    mean_cosine_distance as mean_cosine_distance,
    mean_iou as mean_iou,
    mean_per_class_accuracy as mean_per_class_accuracy,
    mean_relative_error as mean_relative_error,
    mean_squared_error as mean_squared_error,
    mean_tensor as mean_tensor,
    percentage_below as percentage_below,
    root_mean_squared_error as root_mean_squared_error,
)

__getattr__ = _missing(__name__)
