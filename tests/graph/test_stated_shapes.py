"""What a graph says of a result's shape is true of its value; losses of TensorFlow 1 whose extents or ranks are not known."""

import numpy as np
import pytest

import gradtape as tf

v1 = tf.compat.v1

X, Y = np.array([[0.2, 0.9, 0.4], [0.6, 0.1, 0.3]], np.float32), np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], np.float32)
RANK_2 = [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    "call, shapes, arrays, stated",
    [
        (lambda x, y: v1.setdiff1d(x, y).out, (None, None), ([1, 2, 3], [2]), (None,)),
        (lambda x: tf.linalg.set_diag(x, tf.constant([5, 6])), ((None, None),), ([[1, 2, 3], [4, 5, 6]],), (None, None)),
        (lambda x, y: tf.tensor_scatter_nd_sub(x, [[0], [1]], y), ((None, None),) * 2, (RANK_2, RANK_2), (None, None)),
        (lambda x: tf.math.unsorted_segment_sum(x, tf.constant(RANK_2), 2), (None,), ([[[1, 2], [3, 4]]] * 2,), None),
        (lambda x, n: tf.one_hot(x, n), (None, ()), (RANK_2, 3), None),
    ],
    ids=["setdiff1d", "set_diag", "tensor_scatter_nd_sub", "unsorted_segment_sum", "one_hot"],
)
def test_a_stated_shape_is_true(call, shapes, arrays, stated):
    with tf.Graph().as_default(), v1.Session() as session:
        given = [v1.placeholder(tf.int32, shape) for shape in shapes]
        result = call(*given)
        value = session.run(result, dict(zip(given, arrays, strict=True)))
        assert result.shape.is_compatible_with(value.shape)
        assert result.shape == (tf.TensorShape(None) if stated is None else stated)
    np.testing.assert_array_equal(value, call(*map(tf.constant, arrays)))


@pytest.mark.parametrize("shape", [(None, None), None], ids=["extents", "rank"])
@pytest.mark.parametrize(
    "loss",
    [
        v1.losses.mean_pairwise_squared_error,
        lambda y, x: v1.losses.softmax_cross_entropy(y, x, label_smoothing=0.3),
    ],
    ids=["mean_pairwise_squared_error", "label_smoothing"],
)
def test_a_loss_counts_the_true_elements(loss, shape):
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, shape), v1.placeholder(tf.float32, shape)
        found = session.run(loss(y, x), {x: X, y: Y})
    np.testing.assert_allclose(found, loss(Y, X).numpy(), rtol=1e-5)
