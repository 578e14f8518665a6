"""A cotangent that is the same at every place (from a mean or a sum over space) is never made an image of."""

import numpy as np
import pytest

import gradtape as tf
from tests.ops.spy import recorded
from tests.ops.table import real

DENSE = {"Conv2DBackpropInput", "Conv2DBackpropFilter", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"}
DEPTHWISE = {"DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"}
POOLS = {"AvgPoolGrad", "AvgPool3DGrad"}

UNEVEN = [[0, 0], [2, 0], [0, 1], [0, 0]]
FIRST = [[0, 0], [0, 0], [2, 0], [0, 1]]


def same(y):
    return y


def gradients(convolve, x, k, spatial, after, dense):
    """The gradients of Σ c · mean over space, of first and second order, and the op types recorded for the first.

    With `dense`, a product that the rules do not look through stands behind the convolution.
    """
    x, k = tf.constant(x), tf.constant(k)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, k])
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            y = convolve(x, k)
            y = after(y * tf.constant(np.ones(y.shape)) if dense else y)
            means = tf.reduce_mean(y, axis=spatial)
            loss = tf.reduce_sum(means * tf.constant(real(*means.shape)))
        with recorded() as seen:
            dx, dk = tape.gradient(loss, [x, k])
        size = tf.reduce_sum(dx * dx) + tf.reduce_sum(dk * dk)
    return [g.numpy() for g in (dx, dk, *outer.gradient(size, [x, k]))], {op.type for op, *_ in seen}


def compare(convolve, x, k, spatial, avoided, after=same):
    found, without = gradients(convolve, x, k, spatial, after, dense=False)
    expected, with_dense = gradients(convolve, x, k, spatial, after, dense=True)
    assert not without & avoided
    assert with_dense & avoided
    for received, number in zip(found, expected, strict=True):
        np.testing.assert_allclose(received, number, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("strides, padding, dilations", [(1, "VALID", 1), (2, "SAME", 1), (3, UNEVEN, 2)])
@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d(strides, padding, dilations, groups):
    def convolve(x, k):
        return tf.nn.conv2d(x, k, strides, padding, dilations=dilations)

    compare(convolve, real(2, 5, 4, 4), real(2, 3, 4 // groups, 2), [1, 2], DENSE)


def test_channels_first():
    def convolve(x, k):
        return tf.nn.conv2d(x, k, 2, FIRST, "NCHW")

    compare(convolve, real(2, 3, 4, 5), real(2, 2, 3, 2), [2, 3], DENSE)


def test_constant_over_batch_and_channels_too():
    def convolve(x, k):
        return tf.nn.conv2d(x, k, 1, "SAME")

    compare(convolve, real(2, 3, 3, 1), real(2, 2, 1, 2), None, DENSE)


def test_bias_between():
    bias = tf.constant(real(2))

    def convolve(x, k):
        return tf.nn.conv2d(x, k, 1, "SAME")

    compare(convolve, real(2, 3, 3, 1), real(2, 2, 1, 2), [1, 2], DENSE, lambda y: 3.0 * tf.nn.bias_add(-y, bias))


def test_conv1d():
    def convolve(x, k):
        return tf.nn.conv1d(x, k, 2, "SAME")

    compare(convolve, real(2, 5, 3), real(3, 3, 2), 1, DENSE)


def test_conv3d():
    def convolve(x, k):
        return tf.nn.conv3d(x, k, [1, 1, 2, 1, 1], "SAME")

    compare(convolve, real(2, 2, 3, 2, 1), real(1, 2, 2, 1, 2), [1, 2, 3], DENSE)


def test_depthwise():
    def convolve(x, k):
        return tf.nn.depthwise_conv2d(x, k, [1, 2, 2, 1], "SAME")

    compare(convolve, real(2, 4, 3, 2), real(2, 2, 2, 2), [1, 2], DEPTHWISE)


@pytest.mark.parametrize("ksize", [2, 4])
def test_average_pool_between(ksize):
    def convolve(x, k):
        return tf.nn.conv2d(x, k, 1, "SAME")

    def pool(y):
        return tf.nn.avg_pool2d(y, ksize, ksize, "VALID")

    compare(convolve, real(2, 4, 4, 1), real(2, 2, 1, 2), [1, 2], DENSE | POOLS, pool)


@pytest.mark.parametrize("spatial", [[1, 2], [2], [3], [0, 1, 3], None])
@pytest.mark.parametrize(
    "add, shape",
    [
        (tf.nn.bias_add, (3,)),
        (lambda y, bias: tf.nn.bias_add(y, bias, "NCHW"), (3,)),
        (lambda y, bias: y + bias, (3,)),
        (lambda y, bias: y + bias, (3, 1, 3)),
        (lambda y, bias: y + bias, (2, 3, 1, 1)),
    ],
)
def test_bias(add, shape, spatial):
    y, bias = real(2, 3, 3, 3), tf.constant(real(*shape))

    def to_bias(dense):
        with tf.GradientTape() as tape:
            tape.watch(bias)
            image = add(tf.constant(y), bias)
            means = tf.reduce_mean(image * tf.constant(np.ones(y.shape)) if dense else image, axis=spatial)
            loss = tf.reduce_sum(means * tf.constant(real(*means.shape)))
        return tape.gradient(loss, bias).numpy()

    np.testing.assert_allclose(to_bias(dense=False), to_bias(dense=True), rtol=1e-12)


def test_half_precision_sums_are_not_multiples():
    """The number of places is infinite in float16; the sum is not."""
    x, bias = tf.zeros([1, 300, 300, 1], "float16"), tf.zeros([1], "float16")
    with tf.GradientTape() as tape:
        tape.watch(bias)
        loss = tf.reduce_sum(x + bias) * tf.constant(1e-4, "float16")
    np.testing.assert_allclose(tape.gradient(loss, bias).numpy(), [9.0], rtol=1e-2)
