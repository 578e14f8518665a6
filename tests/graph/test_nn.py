"""`compat.v1.nn` and `compat.v1.losses`: TensorFlow 1's parameters, with TensorFlow 2.21's numbers."""

import numpy as np
import pytest

import gradtape as tf

v1 = tf.compat.v1
nn, losses = v1.nn, v1.losses
X = tf.reshape(tf.range(1.0, 17.0), [1, 4, 4, 1])
WINDOW = tf.constant([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]])
IMAGE = [1, 2, 2, 1]
ONE = tf.ones([1])
TABLE = tf.reshape(tf.range(10.0), [5, 2])

# What TensorFlow 1 calls, the same as TensorFlow 2 calls it
SPELLINGS = {
    "conv1d": (
        lambda: nn.conv1d(value=X[0], filters=WINDOW[0], stride=2, padding="SAME", use_cudnn_on_gpu=False),
        lambda: tf.nn.conv1d(X[0], WINDOW[0], 2, "SAME"),
    ),
    "conv2d": (
        lambda: nn.conv2d(X, filter=WINDOW, strides=IMAGE, padding="SAME", use_cudnn_on_gpu=True),
        lambda: tf.nn.conv2d(X, WINDOW, 2, "SAME"),
    ),
    "convolution": (
        lambda: nn.convolution(X, WINDOW, "VALID", None, [2, 2]),
        lambda: tf.nn.convolution(X, WINDOW, padding="VALID", dilations=[2, 2]),
    ),
    "conv2d_transpose": (
        lambda: nn.conv2d_transpose(value=X, filter=WINDOW, output_shape=[1, 8, 8, 1], strides=IMAGE),
        lambda: tf.nn.conv2d_transpose(X, WINDOW, [1, 8, 8, 1], 2),
    ),
    "conv2d_backprop_filter": (
        lambda: nn.conv2d_backprop_filter(X, [2, 2, 1, 1], X[:, :2, :2], IMAGE, "SAME"),
        lambda: [[[[118.0]], [[132.0]]], [[[174.0]], [[188.0]]]],
    ),
    "conv2d_backprop_input": (
        lambda: nn.conv2d_backprop_input([1, 4, 4, 1], WINDOW, X[:, :2, :2], IMAGE, "SAME"),
        lambda: tf.nn.conv2d_transpose(X[:, :2, :2], WINDOW, [1, 4, 4, 1], 2),
    ),
    "depthwise_conv2d": (
        lambda: nn.depthwise_conv2d(X, WINDOW, [1, 1, 1, 1], "VALID", [2, 2]),
        lambda: tf.nn.depthwise_conv2d(X, WINDOW, [1, 1, 1, 1], "VALID", dilations=[2, 2]),
    ),
    "dilation2d": (
        lambda: nn.dilation2d(X, filter=WINDOW[..., 0], strides=IMAGE, rates=[1, 1, 1, 1], padding="SAME"),
        lambda: tf.nn.dilation2d(X, WINDOW[..., 0], IMAGE, "SAME", "NHWC", [1, 1, 1, 1]),
    ),
    "max_pool": (
        lambda: nn.max_pool(value=X, ksize=IMAGE, strides=IMAGE, padding="SAME"),
        lambda: tf.nn.max_pool2d(X, 2, 2, "SAME"),
    ),
    "pool": (
        lambda: nn.pool(X, [2, 2], "AVG", "VALID", dilation_rate=[1, 2]),
        lambda: tf.nn.pool(X, [2, 2], "AVG", dilations=[1, 2]),
    ),
    "batch_norm": (
        lambda: nn.batch_norm_with_global_normalization(
            t=X, m=ONE * 8, v=ONE * 4, beta=ONE, gamma=ONE * 2, variance_epsilon=0.0, scale_after_normalization=True
        ),
        lambda: X - 7.0,
    ),
    "weighted_moments": (
        lambda: nn.weighted_moments(TABLE, [0], 2.0, None, True),
        lambda: tf.nn.weighted_moments(TABLE, [0], 2.0, keepdims=True),
    ),
    "weighted_cross_entropy": (
        lambda: nn.weighted_cross_entropy_with_logits(targets=[1.0, 0.0], logits=[0.5, 2.0], pos_weight=3.0),
        lambda: tf.nn.weighted_cross_entropy_with_logits([1.0, 0.0], [0.5, 2.0], 3.0),
    ),
    "xw_plus_b": (lambda: nn.xw_plus_b(TABLE, [[1.0], [1.0]], [-10.0]), lambda: [[-9.0], [-5.0], [-1.0], [3.0], [7.0]]),
    "relu_layer": (lambda: nn.relu_layer(TABLE, [[1.0], [1.0]], [-10.0]), lambda: [[0.0], [0.0], [0.0], [3.0], [7.0]]),
    "parts-mod": (lambda: nn.embedding_lookup([TABLE[::2], TABLE[1::2]], [0, 1, 4]), lambda: tf.gather(TABLE, [0, 1, 4])),
    "parts-div": (lambda: nn.embedding_lookup([TABLE[:3], TABLE[3:]], [0, 3], "div"), lambda: tf.gather(TABLE, [0, 3])),
    "nce_loss": (
        lambda: nce(nn.nce_loss, [TABLE[::2], TABLE[1::2]], partition_strategy="mod"),
        lambda: nce(tf.nn.nce_loss, TABLE),
    ),
}


def nce(loss, table, **options):
    drawn = (tf.constant([0, 3], "int64"), tf.constant([[0.25]]), tf.constant([0.5, 0.125]))
    return loss(table, tf.zeros(5), tf.constant([[1]], "int64"), [[0.1, -0.2]], 2, 5, sampled_values=drawn, **options)


@pytest.mark.parametrize("name", SPELLINGS)
def test_the_parameters_of_tensorflow_1(name):
    old, new = SPELLINGS[name]
    found, wanted = old(), new()
    if not isinstance(wanted, (list, tuple)) or not hasattr(wanted[0], "shape"):
        found, wanted = [found], [wanted]
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.moments(TABLE, [0], keep_dims=True, keepdims=True), ValueError, "Cannot specify both 'keep_dims' and"),
        (lambda: nn.max_pool(X, 2, 2, "SAME", input=X), ValueError, "Cannot specify both 'value' and 'input'"),
        (lambda: nn.conv2d(X, kernel=WINDOW), TypeError, "unexpected keyword argument 'kernel'"),
        (lambda: nn.conv1d(X), TypeError, "missing 3 required positional arguments"),
        (lambda: nn.dropout(X, keep_prob=0.5, rate=0.5), ValueError, "Cannot specify both 'keep_prob' and 'rate'"),
        (lambda: nn.embedding_lookup([X, X], [0], "rows"), ValueError, "Unrecognized partition strategy: rows"),
        (lambda: nn.ctc_loss([[1]], X[0], [4]), TypeError, "to be a SparseTensor, received list"),
        (lambda: losses.absolute_difference(TABLE, TABLE, [1.0, 2.0]), ValueError, "weights can not be broadcast to values"),
        (lambda: losses.mean_squared_error(TABLE, TABLE[:, :1]), ValueError, "are incompatible"),
        (lambda: losses.hinge_loss(TABLE, TABLE, reduction="mean"), ValueError, "Invalid Reduction Key mean"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_fused_batch_norm():
    y, mean, variance = nn.fused_batch_norm(X, [2.0], [1.0])
    np.testing.assert_allclose([y[0, 0, 0, 0], mean[0], variance[0]], [-2.2538838, 8.5, 22.666666], rtol=1e-5)


LABELS, PREDICTIONS = [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], [[0.5, 0.25], [2.0, -1.0], [0.125, -3.0]]
WEIGHTS = [[1.0], [0.0], [2.0]]


@pytest.mark.parametrize(
    ("loss", "value", "gradient"),
    [
        (lambda p: losses.absolute_difference(LABELS, p, WEIGHTS), 1.875, [[0.25, -0.25], [0.0, 0.0], [0.5, -0.5]]),
        (lambda p: losses.hinge_loss(LABELS, p, WEIGHTS), 1.125, [[0.25, -0.25], [0.0, 0.0], [0.5, 0.0]]),
        (
            lambda p: losses.cosine_distance(LABELS, p, axis=1, weights=WEIGHTS),
            1.375,
            [[0.0, -0.5], [0.0, 0.0], [0.0, 0.0]],
        ),
        (
            lambda p: losses.mean_pairwise_squared_error(LABELS, p, WEIGHTS),
            21.09375,
            [[2.5, -2.5], [0.0, 0.0], [12.5, -12.5]],
        ),
        (
            lambda p: losses.sparse_softmax_cross_entropy([[1], [0], [0]], p, WEIGHTS),
            0.45596883,
            [[0.28108825, -0.28108825], [0.0, 0.0], [-0.04208773, 0.04208773]],
        ),
        (
            lambda p: losses.absolute_difference(LABELS, p, WEIGHTS, reduction="weighted_mean"),
            1.25,
            np.array([[1.0, -1.0], [0.0, 0.0], [2.0, -2.0]]) / 6,
        ),
    ],
)
def test_losses(loss, value, gradient):
    predictions = tf.constant(PREDICTIONS)
    with tf.GradientTape() as tape:
        tape.watch(predictions)
        y = loss(predictions)
    np.testing.assert_allclose([y, *np.ravel(tape.gradient(y, predictions))], [value, *np.ravel(gradient)], rtol=1e-5, atol=1e-7)


def test_a_loss_of_float64_is_float64():
    assert losses.sigmoid_cross_entropy([1.0], tf.constant([0.0], "float64")).dtype == tf.float64


def test_losses_of_open_rows_are_entered():
    with v1.Graph().as_default(), v1.Session() as session:
        labels, predictions = v1.placeholder("float32", [None, 2]), v1.placeholder("float32", [None, 2])
        loss = losses.hinge_loss(labels, predictions, v1.placeholder_with_default(WEIGHTS, [None, 1]))
        assert losses.get_losses() == [loss]
        assert session.run(loss, {labels: LABELS, predictions: PREDICTIONS}) == pytest.approx(1.125)


@pytest.mark.parametrize(
    ("loss", "options", "name"),
    [
        (losses.absolute_difference, {}, "absolute_difference/value"),
        (losses.absolute_difference, {"scope": "mine"}, "mine/value"),
        (losses.mean_squared_error, {"reduction": losses.Reduction.SUM}, "mean_squared_error/Sum"),
        (losses.absolute_difference, {"reduction": losses.Reduction.NONE}, "absolute_difference/Mul"),
        (losses.cosine_distance, {"axis": 1}, "cosine_distance_loss/value"),
        (losses.softmax_cross_entropy, {}, "softmax_cross_entropy_loss/value"),
        (losses.sigmoid_cross_entropy, {}, "sigmoid_cross_entropy_loss/value"),
        (losses.mean_pairwise_squared_error, {}, "mean_pairwise_squared_error/value_2"),
    ],
)
def test_names_of_losses(loss, options, name):
    with tf.Graph().as_default():
        made = loss(tf.ones([2, 3]), tf.zeros([2, 3]), **options)
        assert made.op.name == name
        assert losses.get_losses(name.split("/")[0]) == [made]
        assert losses.get_losses("other") == []
