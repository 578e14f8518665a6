"""`tf.raw_ops`, with TensorFlow's answers."""

import numpy as np
import pytest

import gradtape as tf


@pytest.mark.parametrize("op, results", [("FusedBatchNormV2", 5), ("FusedBatchNormV3", 6)])
def test_batch_norm_in_training_returns_the_moments_of_the_batch(op, results):
    x = tf.reshape(tf.range(12.0), [2, 1, 2, 3])
    result = getattr(tf.raw_ops, op)(x=x, mean=tf.zeros([0]), variance=tf.zeros([0]), scale=tf.ones([3]), offset=tf.zeros([3]))
    assert len(result) == results and result._fields[:3] == ("y", "batch_mean", "batch_variance")
    np.testing.assert_allclose(result.y[:, 0, :, 0], [[-1.3416348, -0.44721159], [0.44721159, 1.3416348]], rtol=1e-6)
    np.testing.assert_array_equal(result.batch_mean, [4.5, 5.5, 6.5])
    np.testing.assert_array_equal(result.batch_variance, [15, 15, 15])
    np.testing.assert_array_equal(result.reserve_space_2, [11.25, 11.25, 11.25])


def test_batch_norm_with_given_moments():
    x = tf.constant([1.0, 3.0], shape=[1, 1, 2, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = tf.raw_ops.FusedBatchNormV2(
            x=x, mean=[1.0], variance=[3.0], scale=[2.0], offset=[0.5], epsilon=1.0, is_training=False
        )
    np.testing.assert_array_equal(result.y[0, 0, :, 0], [0.5, 2.5])
    np.testing.assert_array_equal(tape.gradient(result.y, x)[0, 0, :, 0], [1, 1])
