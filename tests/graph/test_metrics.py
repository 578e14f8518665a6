"""`compat.v1.metrics`: local variables, values and updates over two equal batches; TensorFlow's numbers."""

import numpy as np
import pytest

import gradtape as tf

v1 = tf.compat.v1
metrics = v1.metrics
LABELS, SCORES = [[1, 0, 1, 1], [0, 1, 0, 1]], [[0.9, 0.2, 0.4, 0.6], [0.1, 0.7, 0.8, 0.3]]
ANSWERS, WEIGHTS = [[1, 0, 1, 0], [1, 1, 0, 1]], [[1.0, 2.0, 1.0, 0.5], [0.0, 1.0, 3.0, 1.0]]
CLASSES, GUESSES, COUNTS = [0, 2, 1, 2, 1], [0, 1, 1, 2, 2], [1.0, 0.5, 2.0, 1.0, 0.0]
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
AT = [0.1, 0.5, 0.9]
CARE = "careful_interpolation"
PRECISION_COUNTS = "precision/true_positives/count precision/false_positives/count"
ALL_COUNTS = "auc/true_positives auc/false_negatives auc/true_negatives auc/false_positives"


def scored(metric, *rest, **options):
    return metric(tf.constant(LABELS), tf.constant(SCORES), *rest, **options)


CASES = {  # name: what makes it, the first update, the value after the second, its local variables
    "mean": (lambda: metrics.mean([1.0, 2.0, 3.0]), 2, 2, "mean/total mean/count"),
    "weighted mean": (lambda: metrics.mean(ROWS, [[1.0], [2.0]]), 4, 4, "mean/total mean/count"),
    "named": (lambda: metrics.mean(1.0, name="foo"), 1, 1, "foo/total foo/count"),
    "mean_tensor": (lambda: metrics.mean_tensor(ROWS[0]), ROWS[0], ROWS[0], "mean/total_tensor mean/count_tensor"),
    "accuracy": (lambda: metrics.accuracy(CLASSES, GUESSES), 0.6, 0.6, "accuracy/total accuracy/count"),
    "weighted accuracy": (lambda: metrics.accuracy(CLASSES, GUESSES, COUNTS), 4 / 4.5, 4 / 4.5, None),
    "mean_squared_error": (lambda: scored(lambda y, p: metrics.mean_squared_error(tf.cast(y, p.dtype), p)), 0.225, 0.225, None),
    "root_mean_squared_error": (lambda: metrics.root_mean_squared_error([1.0, 2.0], [4.0, 6.0]), 12.5**0.5, 12.5**0.5, None),
    "mean_absolute_error": (lambda: metrics.mean_absolute_error([1.0, 2.0], [4.0, 6.0], 2.0), 3.5, 3.5, None),
    "mean_relative_error": (lambda: metrics.mean_relative_error([1.0, 2.0], [2.0, 3.0], [4.0, 0.0]), 0.125, 0.125, None),
    "mean_cosine_distance": (lambda: metrics.mean_cosine_distance([[1.0, 0.0]], [[0.6, 0.8]], 1), 0.4, 0.4, None),
    "percentage_below": (lambda: metrics.percentage_below([1.0, 2.0, 3.0], 2.5), 2 / 3, 2 / 3, None),
    "true_positives": (lambda: metrics.true_positives(LABELS, ANSWERS), 4, 8, "true_positives/count"),
    "false_positives": (lambda: metrics.false_positives(LABELS, ANSWERS, WEIGHTS), 0, 0, "false_positives/count"),
    "true_negatives": (lambda: metrics.true_negatives(LABELS, ANSWERS), 2, 4, "true_negatives/count"),
    "false_negatives": (lambda: metrics.false_negatives(LABELS, ANSWERS), 1, 2, "false_negatives/count"),
    "precision": (lambda: metrics.precision(LABELS, ANSWERS), 0.8, 0.8, PRECISION_COUNTS),
    "recall": (lambda: metrics.recall(LABELS, ANSWERS, WEIGHTS), 8 / 9, 8 / 9, None),
    "precision of nothing": (lambda: metrics.precision([0, 1], [0, 0]), 0, 0, None),
    "true_positives_at_thresholds": (lambda: scored(metrics.true_positives_at_thresholds, AT), [5, 3, 0], [10, 6, 0], None),
    "precision_at_thresholds": (lambda: scored(metrics.precision_at_thresholds, AT), [5 / 7, 0.75, 0], [5 / 7, 0.75, 0], None),
    "recall_at_thresholds": (lambda: scored(metrics.recall_at_thresholds, AT, WEIGHTS), [1, 5 / 9, 0], [1, 5 / 9, 0], None),
    "auc": (lambda: scored(metrics.auc), 0.73333317, 0.73333317, ALL_COUNTS),
    "auc, weights": (lambda: scored(metrics.auc, WEIGHTS, num_thresholds=10), 0.53333330, 0.53333330, None),
    "auc, PR": (lambda: scored(metrics.auc, curve="PR"), 0.77666658, 0.77666658, None),
    "auc, PR with care": (lambda: scored(metrics.auc, curve="PR", summation_method=CARE), 0.78027749, 0.78027749, None),
    "auc, above": (lambda: scored(metrics.auc, summation_method="majoring", thresholds=[0.3, 0.5]), 0.86666644, 0.86666644, None),
    "mean_iou": (lambda: metrics.mean_iou([0, 1], [0, 0], 2), [[1, 0], [1, 0]], 0.25, "mean_iou/total_confusion_matrix"),
    "mean_per_class_accuracy": (lambda: metrics.mean_per_class_accuracy(CLASSES, GUESSES, 3), [1, 0.5, 0.5], 2 / 3, None),
}  # fmt: skip


@pytest.mark.parametrize(("make", "first", "last", "variables"), CASES.values(), ids=CASES)
def test_metric(make, first, last, variables):
    with tf.Graph().as_default():
        value, update = make()
        if variables is not None:
            assert [v.name for v in v1.local_variables()] == [f"{name}:0" for name in variables.split()]
        assert v1.get_collection(v1.GraphKeys.METRIC_VARIABLES) == v1.local_variables() and not v1.global_variables()
        with v1.Session() as session:
            session.run(v1.local_variables_initializer())
            assert not np.any(session.run(value)) or "distance" in value.name
            np.testing.assert_allclose(session.run(update), first, rtol=1e-5)
            session.run(update)
            np.testing.assert_allclose(session.run(value), last, rtol=1e-5)


def test_batches_that_are_fed():
    with tf.Graph().as_default():
        scores, labels = v1.placeholder(tf.float32), v1.placeholder(tf.float32)
        both = [metrics.mean_squared_error(labels, scores), metrics.mean(scores), metrics.precision(labels, scores)]
        values, updates = zip(*both, strict=True)
        with v1.Session() as session:
            session.run(v1.local_variables_initializer())
            session.run(updates, {scores: [1.0, 0.0], labels: [0, 1]})
            session.run(updates, {scores: [1.0, 1.0, 0.0], labels: [1, 1, 0]})
            np.testing.assert_allclose(session.run(values), [0.4, 0.6, 2 / 3], rtol=1e-6)


def test_collections_and_scopes():
    with tf.Graph().as_default():
        metrics.mean(1.0, metrics_collections=["values"], updates_collections=["updates", "all"])
        with v1.variable_scope("scope"):
            value, _ = metrics.mean(1.0)
        assert [len(v1.get_collection(name)) for name in ("values", "updates", "all")] == [1, 1, 1]
        assert value.name == "scope/mean/value:0"


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: metrics.mean([[1.0, 2.0]], [1.0, 2.0]), ValueError, "weights can not be broadcast to values"),
        (lambda: metrics.accuracy([1, 2], [1, 2, 3]), ValueError, "incompatible"),
        (lambda: scored(metrics.auc, curve="X"), ValueError, "curve must be either ROC or PR"),
    ],
)
def test_what_does_not_fit(make, error, words):
    with tf.Graph().as_default(), pytest.raises(error, match=words):
        make()


def test_scores_are_shares():
    words = r"predictions must be in \[0, 1\]"
    with tf.Graph().as_default():
        scores = v1.placeholder(tf.float32, [2])
        _, update = metrics.auc(tf.constant([1, 0]), scores)
        with v1.Session() as session:
            session.run(v1.local_variables_initializer())
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(update, {scores: [1.5, 0.2]})
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):  # whatever is fed
            metrics.auc(tf.constant([1, 0]), tf.constant([1.5, 0.2]))


def test_eager_code_has_keras_metrics():
    with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
        metrics.mean(1.0)


@pytest.mark.parametrize("shape", [[3, 1], [None, 1], None])
@pytest.mark.parametrize(
    ("weights", "given"),
    [([1, 2, 4], None), ([1, 2, 4], [3]), ([1, 2, 4], [None]), ([[1], [2], [4]], [3, 1]), ([[1], [2], [4]], [None, 1])],
)
def test_weights_are_laid_along_their_axis_whatever_is_known_of_the_shapes(shape, weights, given):
    """5 of 7 is TensorFlow's number; products of [3] and [3, 1] would give 2 of 3."""
    with v1.Graph().as_default(), v1.Session() as session:
        labels, found, weight = [v1.placeholder(tf.float32, s) for s in (shape, shape, given)]
        _, update = v1.metrics.accuracy(labels, found, weights=weight)
        session.run(v1.local_variables_initializer())
        feeds = {labels: [[1.0], [1.0], [1.0]], found: [[1.0], [0.0], [1.0]], weight: weights}
        assert session.run(update, feeds) == pytest.approx(5 / 7)


@pytest.mark.parametrize(("shape", "given"), [([3, 1], None), (None, None), (None, [3])])
def test_weights_of_a_loss_that_do_not_fit_are_refused_by_the_run(shape, given):
    with v1.Graph().as_default(), v1.Session() as session:
        values, weight = v1.placeholder(tf.float32, shape), v1.placeholder(tf.float32, given)
        loss = v1.losses.compute_weighted_loss(values, weight)
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
            session.run(loss, {values: [[1.0], [2.0], [4.0]], weight: [1.0, 2.0, 4.0]})
