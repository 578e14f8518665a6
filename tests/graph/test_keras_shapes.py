"""Keras's functions on placeholders of unknown extents and of unknown rank: what Keras sees of a shape."""

import numpy as np
import pytest

import gradtape as tf

v1 = tf.compat.v1
A = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]], np.float32)
B = np.array([[0.3, 0.3, 0.4], [0.6, 0.2, 0.2]], np.float32)


@pytest.mark.parametrize("loss", ["MeanSquaredError", "CosineSimilarity", "KLDivergence", "Huber", "BinaryCrossentropy"])
def test_the_mean_of_a_loss_is_over_the_true_extents(loss):
    given = getattr(tf.keras.losses, loss)()
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, [None, None]), v1.placeholder(tf.float32, [None, None])
        found = session.run(given(x, y), {x: A, y: B})
    np.testing.assert_allclose(found, given(A, B).numpy(), rtol=1e-5)


@pytest.mark.parametrize("loss", ["MeanSquaredError", "CosineSimilarity", "CategoricalCrossentropy"])
def test_a_loss_of_unknown_rank_is_an_error(loss):
    with tf.Graph().as_default():
        x, y = v1.placeholder(tf.float32), v1.placeholder(tf.float32)
        with pytest.raises(ValueError, match="length of shape with unknown rank"):
            getattr(tf.keras.losses, loss)()(x, y)


def test_a_shape_has_a_tensor_for_an_unknown_extent():
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, [None, 3]), v1.placeholder(tf.float32)
        rows, columns = tf.keras.ops.shape(x)
        assert columns == 3
        assert session.run(rows, {x: A}) == 2
        with pytest.raises(ValueError, match="statically known rank"):
            tf.keras.ops.shape(y)


def test_integers_are_counted_whose_number_is_not_known():
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.int32, [None])
        assert session.run(tf.math.bincount(x), {x: [1, 2, 2]}).tolist() == [0, 1, 2]
