"""Losses that enter themselves in a collection of the graph."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.v1.ops.losses import (
    Reduction as Reduction,
    absolute_difference as absolute_difference,
    add_loss as add_loss,
    compute_weighted_loss as compute_weighted_loss,
    cosine_distance as cosine_distance,
    get_losses as get_losses,
    get_regularization_loss as get_regularization_loss,
    get_regularization_losses as get_regularization_losses,
    get_total_loss as get_total_loss,
    hinge_loss as hinge_loss,
    huber_loss as huber_loss,
    log_loss as log_loss,
    mean_pairwise_squared_error as mean_pairwise_squared_error,
    mean_squared_error as mean_squared_error,
    sigmoid_cross_entropy as sigmoid_cross_entropy,
    softmax_cross_entropy as softmax_cross_entropy,
    sparse_softmax_cross_entropy as sparse_softmax_cross_entropy,
)

__getattr__ = _missing(__name__)
