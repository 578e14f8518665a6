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


@pytest.mark.parametrize(
    ("s0", "s1", "r0", "r1"),
    [
        ([1, 3], [1, 1], [0], [0, 1]),
        ([2, 3], [3], [], [0]),
        ([], [2, 1], [0, 1], [1]),
        ([2, 1, 3], [2, 1, 1], [1], [1, 2]),
        ([1], [1], [], []),
        ([0, 1], [1, 4], [1], [0]),
    ],
)
def test_axes_of_broadcasting(s0, s1, r0, r1):
    result = tf.raw_ops.BroadcastGradientArgs(s0=tf.constant(s0, tf.int32), s1=tf.constant(s1, tf.int32))
    assert (result.r0.numpy().tolist(), result.r1.numpy().tolist()) == (r0, r1)


def test_shapes_that_do_not_broadcast():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs. \[3\]"):
        tf.raw_ops.BroadcastGradientArgs(s0=[2], s1=[3])


def test_derivatives_of_gamma_functions():
    assert abs(tf.raw_ops.IgammaGradA(a=2.0, x=3.0).numpy() + 0.19742544) < 1e-6
    assert abs(tf.raw_ops.RandomGammaGrad(alpha=2.0, sample=3.0).numpy() - 1.3217986) < 1e-5
