"""Element-wise functions of two operands: arithmetic, comparison, logic, bits."""

import functools
import math

import gradtape as tf
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.shapes import broadcast_shapes
from keras_gradtape.src.ops._numpy.bound import bound
from keras_gradtape.src.ops._numpy.promotion import floating, operands, pair

# Arithmetic


def _by_rows(function, either):
    """Apply `function` to tensors, or to the rows of IndexedSlices and the same rows of a tensor.

    The slices are the first operand, or `either`. As on TensorFlow, repeated rows are added afterwards.
    """

    @functools.wraps(function)
    def call(x1, x2):
        found = [x for x in ((x1, x2) if either else (x1,)) if isinstance(x, tf.IndexedSlices)]
        if not found or (isinstance(x1, tf.IndexedSlices) and isinstance(x2, tf.IndexedSlices)):
            return function(x1, x2)
        slices = found[0]
        rows = [x.values if x is slices else _rows(x, slices.indices) for x in (x1, x2)]
        return tf.IndexedSlices(function(*rows), slices.indices, slices.dense_shape)

    return call


def _rows(x, indices):
    return tf.gather(tf.convert_to_tensor(x), indices) if len(getattr(x, "shape", ())) else x


multiply = _by_rows(bound.multiply, either=True)
divide = _by_rows(bound.divide, either=False)


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


def left_shift(x, y):
    return bitwise_left_shift(x, y)


def bitwise_right_shift(x, y):
    x, y, _ = pair(x, y)
    return tf.bitwise.right_shift(x, y)


def right_shift(x, y):
    return bitwise_right_shift(x, y)
