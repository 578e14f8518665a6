"""Element-wise functions of two operands: arithmetic, comparison, logic, bits."""

import math

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.shapes import broadcast_shapes
from keras_gradtape.src.ops._numpy.bound import bound
from keras_gradtape.src.ops._numpy.promotion import floating, operands, pair

# Arithmetic


def divide_no_nan(x1, x2):
    x1, x2, _ = operands(x1, x2, float)
    return tf.math.divide_no_nan(x1, x2)


def logaddexp(x1, x2):
    x1, x2, _ = pair(x1, x2, float)
    shape = broadcast_shapes(extents_of(x1), extents_of(x2))
    return tf.reduce_logsumexp(tf.stack([tf.broadcast_to(x1, shape), tf.broadcast_to(x2, shape)]), 0)


def logaddexp2(x1, x2):
    x1, x2, _ = pair(x1, x2, float)
    return logaddexp(x1 * math.log(2.0), x2 * math.log(2.0)) / math.log(2.0)


# Comparison


def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    x1, x2, dtype = pair(x1, x2)
    if not (dtype.is_floating or dtype.is_complex):
        x1, x2 = floating(x1), floating(x2)
    near = tf.abs(x1 - x2) <= atol + rtol * tf.abs(x2)
    if dtype.is_complex:
        return tf.logical_or(tf.equal(x1, x2), near)
    close = tf.logical_or(tf.equal(x1, x2), tf.logical_and(near, tf.math.is_finite(x2)))
    if equal_nan:
        close = tf.logical_or(close, tf.logical_and(tf.math.is_nan(x1), tf.math.is_nan(x2)))
    return close


def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return tf.reduce_all(isclose(x1, x2, rtol, atol, equal_nan))


# Bits


bitwise_invert = bound.bitwise_not


def bitwise_left_shift(x, y):
    x, y, _ = pair(x, y)
    return tf.bitwise.left_shift(x, y)


def bitwise_right_shift(x, y):
    x, y, _ = pair(x, y)
    return tf.bitwise.right_shift(x, y)


left_shift, right_shift = bitwise_left_shift, bitwise_right_shift
