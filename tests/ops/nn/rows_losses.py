"""Rows of the losses."""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.nn import losses
from tests.ops.table import Row, integers, positive, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError
FLOATS = ("float64", "float32", "float16", "bfloat16")
NOT_ALLOWED = "is not in the list of allowed values"
dense, sparse = tf.nn.softmax_cross_entropy_with_logits, tf.nn.sparse_softmax_cross_entropy_with_logits
sigmoid, weighted = tf.nn.sigmoid_cross_entropy_with_logits, tf.nn.weighted_cross_entropy_with_logits


def cross_entropy(labels, logits, axis=-1):
    return -jnp.sum(labels * jax.nn.log_softmax(logits, axis), axis)


def sparse_cross_entropy(labels, logits):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)[..., 0]


def sigmoid_cross_entropy(labels, logits):
    return -labels * jax.nn.log_sigmoid(logits) - (1 - labels) * jax.nn.log_sigmoid(-logits)


def weighted_cross_entropy(labels, logits, weight):
    return -weight * labels * jax.nn.log_sigmoid(logits) - (1 - labels) * jax.nn.log_sigmoid(-logits)


def log_poisson(targets, rates, full=False):
    loss = jnp.exp(rates) - rates * targets
    if full:
        stirling = targets * jnp.log(targets) - targets + 0.5 * jnp.log(2 * jnp.pi * targets)
        loss += jnp.where(targets > 1, stirling, 0.0)
    return loss


def distributions(*shape, axis=-1):
    """float64, positive, with sums of 1."""
    values = positive(*shape)
    return values / values.sum(axis, keepdims=True)


# The gradient to the logits is right for labels that sum to 1. What it is to other labels is another matter for `jax.grad`,
# which the second order meets where both have gradients.
SOFTMAX = (
    Row(
        "softmax-cross-entropy",
        dense,
        (distributions(2, 3), real(2, 3)),
        cross_entropy,
        ops=("SoftmaxCrossEntropyWithLogits",),
        dtypes=FLOATS,
        oracle=False,
        special=(
            (
                ([[1.0, 0.0, 0.0], [0.25, 0.25, 0.5]], [[0.0, 1.0, 3.0], [1000.0, 1001.0, -1000.0]]),
                [3.169846, 1001.06323],
                (
                    [[3.169846, 2.169846, 0.16984604], [1.3132616, 0.31326166, 2001.3132]],
                    [[-0.95798993, 0.1141952, 0.8437947], [0.01894143, 0.4810586, -0.5]],
                ),
            ),
            # softmax − labels, also where they do not sum to 1
            (
                ([[0.0, 0.0, 0.0], [0.0, 3.0, 0.0]], [[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]]),
                [0.0, 1.3931063],
                (
                    [[1.0986123, 1.0986123, 1.0986123], [1.4643688, 0.4643688, 1.9643688]],
                    [[0.3333333, 0.3333333, 0.3333333], [0.2312239, -2.3714683, 0.1402444]],
                ),
            ),
            ((np.zeros((0, 3), "float32"), np.zeros((0, 3), "float32")), np.zeros(0), (np.zeros((0, 3)),) * 2),
            (([[1.0, 0.0]], [[0.0, -INF]]), [NAN]),
        ),
        errors=(
            (
                lambda: dense(labels=tf.zeros([2, 4]), logits=tf.zeros([2, 3])),
                Invalid,
                r"must be broadcastable: logits_size=\[2,3\]",
            ),
            (lambda: dense(labels=tf.zeros([2]), logits=tf.zeros([2, 3])), Invalid, "sparse_softmax_cross_entropy"),
            (lambda: dense(labels=[1], logits=[5]), Invalid, f"of int32 {NOT_ALLOWED}"),
            (lambda: dense(labels=1.0, logits=1.0), Invalid, "`logits` cannot be a scalar"),
            (lambda: dense(labels=None, logits=[1.0]), ValueError, "Both `labels` and `logits` must be provided"),
            (lambda: dense(labels=[1.0], logits=[1.0], axis=1), Invalid, r"`dim` must be in the range \[-1, 1\)"),
        ),
    ),
    Row(
        "softmax-cross-entropy-axis",
        lambda p, z: dense(p, z, axis=1),
        (distributions(2, 3, 2, axis=1), real(2, 3, 2)),
        lambda p, z: cross_entropy(p, z, 1),
        oracle=False,
    ),
    Row(
        "softmax-cross-entropy-broadcast",
        dense,
        (distributions(3), real(2, 3)),
        cross_entropy,
        oracle=False,
        errors=((lambda: dense([[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0]]), Invalid, "2 values, but the requested shape has 1"),),
    ),
    Row("softmax-cross-entropy-rank", dense, (distributions(1, 3), real(3)), lambda p, z: cross_entropy(p[0], z), oracle=False),
    Row(
        "softmax-cross-entropy-logits",
        lambda z: dense([[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]], z),
        (real(2, 3),),
        lambda z: cross_entropy(np.array([[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]), z),
        ops=("SoftmaxCrossEntropyWithLogits",),
    ),
    Row(
        "softmax-cross-entropy-broadcast-classes",
        dense,
        (distributions(2, 3), real(2, 1)),
        lambda p, z: cross_entropy(p, z + 0 * p),
        oracle=False,
    ),
    Row(
        "softmax-cross-entropy-int-labels",
        lambda p, z: dense(p, z),
        (np.array([[0, 1, 0], [1, 0, 0]], "int32"), real(2, 3)),
        cross_entropy,
        dtypes=FLOATS,
    ),
    Row(  # the op's second result is the gradient of the first, and has a gradient itself
        "softmax-cross-entropy-and-its-slope",
        lambda p, z: losses._softmax_cross_entropy(z, p, axis=1),
        (distributions(2, 3), real(2, 3)),
        lambda p, z: (cross_entropy(p, z), jax.nn.softmax(z) - p),
        oracle=False,
    ),
    Row(
        "sparse-softmax-cross-entropy-and-its-slope",
        lambda y, z: losses._sparse_softmax_cross_entropy(z, y, classes=3),
        (integers(0, 3, 2), real(2, 3)),
        lambda y, z: (sparse_cross_entropy(y, z), jax.nn.softmax(z) - jax.nn.one_hot(y, 3, dtype=z.dtype)),
    ),
    Row(
        "softmax-cross-entropy-v1",
        lambda z: losses.softmax_cross_entropy_with_logits_v1(labels=[[0.25, 0.75]], logits=z),
        (real(1, 2),),
        lambda z: cross_entropy(np.array([[0.25, 0.75]]), z),
    ),
    Row(
        "sparse-softmax-cross-entropy",
        sparse,
        (integers(0, 3, 2), real(2, 3)),
        sparse_cross_entropy,
        ops=("SparseSoftmaxCrossEntropyWithLogits",),
        dtypes=FLOATS,
        special=(
            (
                ([0, 2], [[0.0, 1.0, 3.0], [1000.0, 1001.0, -1000.0]]),
                [3.169846, 2001.3132],
                (None, [[-0.95798993, 0.1141952, 0.8437947], [0.26894143, 0.7310586, -1.0]]),
            ),
            ((0, [1.0, 2.0, -INF]), 1.3132616, (None, [-0.7310586, 0.7310586, 0.0])),
            ((np.zeros(0, "int64"), np.zeros((0, 3), "float32")), np.zeros(0), (None, np.zeros((0, 3)))),
        ),
        errors=(
            (
                lambda: sparse(labels=[5, 1], logits=tf.zeros([2, 3])),
                Invalid,
                r"Received a label value of 5 which is outside the valid range of \[0, 3\).  Label values: 5 1 (?s:.*)Labels",
            ),
            (
                lambda: sparse(labels=[0, -1], logits=tf.zeros([2, 3])),
                Invalid,
                r"label value of -1 .*Label values: 0 -1",
            ),
            (
                lambda: sparse(labels=[[1], [2]], logits=tf.zeros([2, 3])),
                ValueError,
                r"`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: .*\(2, 1\) of rank 2.*squeeze",
            ),
            (
                lambda: sparse([1, 2, 0], tf.zeros([2, 3])),
                ValueError,
                "`labels.shape` must equal `logits.shape` except",
            ),
            (lambda: sparse([1.0, 2.0], tf.zeros([2, 3])), Invalid, f"attr 'Tlabels' of float {NOT_ALLOWED}"),
            (lambda: sparse(tf.constant([1], "uint8"), tf.zeros([1, 3])), Invalid, f"'Tlabels' of uint8 {NOT_ALLOWED}"),
            (lambda: sparse([0], [[1, 2, 3]]), Invalid, f"attr 'T' of int32 {NOT_ALLOWED}"),
            (lambda: sparse(0, 1.0), ValueError, "`logits` cannot be a scalar"),
            (lambda: sparse(labels=0, logits=None), ValueError, "Both `labels` and `logits` must be provided"),
        ),
    ),
    Row("sparse-softmax-cross-entropy-deep", sparse, (integers(0, 3, 2, 2), real(2, 2, 3)), sparse_cross_entropy),
)

SIGMOID = (
    Row(
        "sigmoid-cross-entropy",
        sigmoid,
        (positive(2, 3), real(2, 3)),
        sigmoid_cross_entropy,
        ops=("SigmoidCrossEntropyWithLogits",),
        dtypes=FLOATS,
        special=(
            (
                ([0.0, 1.0, 0.5, 1.0, 0.0], [0.0, 0.0, 2.0, 100.0, -100.0]),
                [0.6931472, 0.6931472, 1.126928, 0.0, 0.0],
                ([0.0, 0.0, -2.0, -100.0, 100.0], [0.5, -0.5, 0.3807971, 0.0, 0.0]),
            ),
            (([0.0, 1.0], [100.0, -100.0]), [100.0, 100.0], ([-100.0, 100.0], [1.0, -1.0])),
        ),
        errors=(
            (
                lambda: sigmoid([0.0], [1.0, 2.0]),
                ValueError,
                r"must have the same shape, received \(\(2,\) vs \(1,\)\)",
            ),
            (lambda: sigmoid(logits=[1.0]), ValueError, "Both `labels` and `logits` must be provided"),
            (lambda: sigmoid(tf.zeros([1], "float64"), [1.0]), Invalid, "expected to be a double tensor but is a float"),
            (lambda: sigmoid([1], [1.0]), Invalid, "expected to be a int32 tensor but is a float"),
            (lambda: sigmoid([1], tf.constant([1])), Invalid, f"of int32 {NOT_ALLOWED}"),
        ),
    ),
    Row(
        "weighted-cross-entropy",
        weighted,
        (positive(2, 3), real(2, 3), positive(3, seed=1)),
        weighted_cross_entropy,
        dtypes=("float64", "float32"),
        special=(
            (
                ([0.0, 1.0, 0.5, 1.0, 0.0], [0.0, 0.0, 2.0, 100.0, -100.0], 3.0),
                [0.6931472, 2.0794415, 1.253856, 0.0, 0.0],
                (
                    [1.3862944, 1.3862944, -1.746144, -100.0, 300.0],
                    [1.0, 0.0, 0.26159418, 0.0, 0.0],  # the terms of TensorFlow have no slope at 0
                    0.6931472 + 0.063464,
                ),
            ),
        ),
        errors=(
            (
                lambda: weighted([0.0], [1.0, 2.0], 3.0),
                ValueError,
                r"must have the same shape, received \(\(2,\) vs \(1,\)\)",
            ),
        ),
    ),
    Row(
        "log-poisson",
        tf.nn.log_poisson_loss,
        (positive(2, 3), real(2, 3)),
        log_poisson,
        special=(
            (
                ([0.0, 1.0, 3.0], [1.0, -1.0, 0.5]),
                [2.7182817, 1.3678794, 0.14872122],
                ([-1.0, 1.0, -0.5], [2.7182817, -0.63212055, -1.3512788]),
            ),
        ),
        errors=(
            (
                lambda: tf.nn.log_poisson_loss([0.0], [1.0, 2.0]),
                ValueError,
                "`log_input` and `targets` must have the same",
            ),
            (lambda: tf.nn.log_poisson_loss([1], [1.0]), Invalid, "expected to be a float tensor but is a int32"),
        ),
    ),
    Row(
        "log-poisson-full",
        lambda z, c: tf.nn.log_poisson_loss(z, c, compute_full_loss=True),
        (positive(2, 3), real(2, 3)),
        lambda z, c: log_poisson(z, c, True),
        special=(  # TensorFlow's gradient to a target of 0 is NaN
            (
                ([0.0, 1.0, 3.0], [1.0, -1.0, 0.5]),
                [2.7182817, 1.3678794, 1.9128028],
                ([-1.0, 1.0, 0.765279], [2.7182817, -0.63212055, -1.3512788]),
            ),
        ),
    ),
)

OTHER = (
    Row(
        "l2",
        tf.nn.l2_loss,
        (real(2, 3),),
        lambda t: jnp.sum(t * t) / 2,
        ops=("L2Loss",),
        dtypes=FLOATS,
        special=(([1.0, 2.0], 2.5, [1.0, 2.0]), (np.zeros((0, 2), "float32"), 0.0, np.zeros((0, 2)))),
        errors=((lambda: tf.nn.l2_loss([1, 2]), Invalid, f"of int32 {NOT_ALLOWED}"),),
    ),
    Row(
        "average",
        lambda x: tf.nn.compute_average_loss(x, sample_weight=[1.0, 0.0], global_batch_size=8),
        (real(2, 3),),
        lambda x: jnp.sum(x[0]) / 8,
        special=(([2.0, 5.0], 0.25, [0.125, 0.0]),),
        errors=(
            (lambda: tf.nn.compute_average_loss(1.0), ValueError, "Expected a tensor with at least rank 1"),
            (lambda: tf.nn.compute_average_loss([1.0], None, 8.0), TypeError, "global_batch_size must be an integer"),
            (lambda: tf.nn.compute_average_loss([1.0], None, -1), ValueError, "must be non-negative, received -1"),
        ),
    ),
    Row(
        "average-default",
        tf.nn.compute_average_loss,
        (real(3),),
        lambda x: jnp.sum(x) / 3,
        special=(([1.0, 2.0, 6.0], 3.0),),
    ),
    Row(
        "average-weights-with-axis",
        lambda x: tf.nn.compute_average_loss(x, sample_weight=[[1.0], [2.0]]),
        (real(2),),
        lambda x: (x[0] + 2 * x[1]) / 2,
    ),
    Row("average-of-none", lambda x: tf.nn.compute_average_loss(x, None, 0), (real(3),), lambda x: 0.0 * jnp.sum(x)),
    Row("regularization", tf.nn.scale_regularization_loss, (real(3),), jnp.sum),
)

ROWS = SOFTMAX + SIGMOID + OTHER
