"""Functions of two operands, element by element: arithmetic, comparison, logic, bits."""

import math

from keras.src.backend.common import dtypes, standardize_dtype

import gradtape as tf
from keras_gradtape.src.ops._numpy.elementwise import absolute, of_rows
from keras_gradtape.src.ops._numpy.promotion import cast, floating, operands, pair, tensor, truth

# Arithmetic


def add(x1, x2):
    x1, x2, dtype = operands(x1, x2)
    return tf.logical_or(x1, x2) if dtype is tf.bool else x1 + x2


def subtract(x1, x2):
    x1, x2, _ = operands(x1, x2)
    return x1 - x2


def multiply(x1, x2):
    x1, x2, dtype = operands(x1, x2)
    return tf.logical_and(x1, x2) if dtype is tf.bool else x1 * x2


def divide(x1, x2):
    x1, x2, _ = operands(x1, x2, float)
    return x1 / x2


def true_divide(x1, x2):
    return divide(x1, x2)


def divide_no_nan(x1, x2):
    x1, x2, _ = operands(x1, x2, float)
    return tf.math.divide_no_nan(x1, x2)


def floor_divide(x1, x2):
    x1, x2, _ = _counted(x1, x2)
    return x1 // x2


def mod(x1, x2):
    x1, x2, _ = _counted(x1, x2)
    return x1 % x2


def fmod(x1, x2):
    # The remainder of |x1|, with the sign of x1. Two branches rather than a product with the sign, whose slope at 0 is 0.
    x1, x2, dtype = pair(*_counted(x1, x2)[:2])
    if dtype.is_unsigned:
        return x1 % x2
    size = tf.abs(x2)
    return tf.where(x1 < 0, -(-x1 % size), x1 % size)


def _counted(x1, x2):
    """Operands of which bools count as int32."""
    x1, x2, dtype = operands(x1, x2)
    return (tf.cast(x1, tf.int32), tf.cast(x2, tf.int32), tf.int32) if dtype is tf.bool else (x1, x2, dtype)


def power(x1, x2):
    x1, x2, dtype = _counted(x1, x2)
    if not dtype.is_unsigned:
        return x1**x2
    signed = tf.int64 if dtype.size > 2 else tf.int32
    return tf.cast(tf.cast(x1, signed) ** tf.cast(x2, signed), dtype)


def hypot(x1, x2):
    # Scaled by the larger one, as squares overflow. The scale is a constant, so that derivatives of all orders are right where
    # one operand is 0. Where both are, the derivative is 0, not NaN; infinity beside NaN gives infinity.
    x1, x2, _ = pair(x1, x2, float)
    infinite = tf.logical_or(tf.math.is_inf(x1), tf.math.is_inf(x2))
    x1, x2 = tf.where(infinite, 1.0, x1), tf.where(infinite, 1.0, x2)
    scale = tf.stop_gradient(tf.maximum(tf.abs(x1), tf.abs(x2)))
    both_zero = tf.equal(scale, 0.0)
    scale = tf.where(both_zero, 1.0, scale)
    squares = tf.square(x1 / scale) + tf.square(x2 / scale)
    length = tf.where(both_zero, squares, scale * tf.sqrt(tf.where(both_zero, 1.0, squares)))
    return tf.where(infinite, math.inf, length)


def arctan2(x1, x2):
    x1, x2, _ = pair(x1, x2, float)
    return tf.atan2(x1, x2)


def logaddexp(x1, x2):
    x1, x2, _ = pair(x1, x2, float)
    return tf.reduce_logsumexp(tf.stack(_broadcast(x1, x2)), 0)


def logaddexp2(x1, x2):
    x1, x2, _ = pair(x1, x2, float)
    return logaddexp(x1 * math.log(2.0), x2 * math.log(2.0)) / math.log(2.0)


def _broadcast(x1, x2):
    shape = tf.broadcast_static_shape(x1.shape, x2.shape)
    return tf.broadcast_to(x1, shape), tf.broadcast_to(x2, shape)


def ldexp(x1, x2):
    x1, x2 = tensor(x1), tensor(x2)
    if standardize_dtype(x2.dtype) not in dtypes.INT_TYPES:
        raise TypeError(f"ldexp exponent must be an integer type. Received: x2 dtype={x2.dtype}")
    x1, x2, dtype = pair(x1, x2, float)
    half = tf.floor(x2 / 2.0)  # in two steps, as 2**x2 alone may be out of the range that the product is in
    return x1 * tf.pow(cast(tensor(2.0), dtype), half) * tf.pow(cast(tensor(2.0), dtype), x2 - half)


def heaviside(x1, x2):
    x1, x2, _ = pair(x1, x2, float)
    x1 = tf.stop_gradient(x1)  # a step has no slope
    return tf.where(x1 < 0, 0.0, tf.where(x1 > 0, 1.0, tf.where(tf.math.is_nan(x1), x1, x2)))


def nextafter(x1, x2):
    x1, x2, dtype = pair(x1, x2, float)
    if dtype in (tf.float32, tf.float64):
        return tf.math.nextafter(x1, x2)
    return tf.cast(tf.math.nextafter(tf.cast(x1, tf.float64), tf.cast(x2, tf.float64)), dtype)


# Extrema


def maximum(x1, x2):
    x1, x2, dtype = operands(x1, x2)
    return tf.logical_or(x1, x2) if dtype is tf.bool else tf.maximum(x1, x2)


def minimum(x1, x2):
    x1, x2, dtype = operands(x1, x2)
    return tf.logical_and(x1, x2) if dtype is tf.bool else tf.minimum(x1, x2)


def fmax(x1, x2):
    return _passing_nan(maximum, x1, x2)


def fmin(x1, x2):
    return _passing_nan(minimum, x1, x2)


def _passing_nan(extremum, x1, x2):
    """An extremum for which a NaN counts only beside another."""
    x1, x2, dtype = pair(x1, x2)
    if dtype.is_floating:
        x1, x2 = tf.where(tf.math.is_nan(x1), x2, x1), tf.where(tf.math.is_nan(x2), x1, x2)
    return extremum(x1, x2)


@of_rows
def clip(x, x_min, x_max):
    x, x_min, _ = _counted(x, x_min)
    return minimum(tf.maximum(x, x_min), x_max)


# Comparison


def equal(x1, x2):
    x1, x2, _ = operands(x1, x2)
    return tf.equal(x1, x2)


def not_equal(x1, x2):
    x1, x2, _ = operands(x1, x2)
    return tf.not_equal(x1, x2)


def greater(x1, x2):
    x1, x2, _ = _counted(x1, x2)
    return tf.greater(x1, x2)


def greater_equal(x1, x2):
    x1, x2, _ = _counted(x1, x2)
    return tf.greater_equal(x1, x2)


def less(x1, x2):
    x1, x2, _ = _counted(x1, x2)
    return tf.less(x1, x2)


def less_equal(x1, x2):
    x1, x2, _ = _counted(x1, x2)
    return tf.less_equal(x1, x2)


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


# Logic and bits


def logical_and(x1, x2):
    return tf.logical_and(truth(x1), truth(x2))


def logical_or(x1, x2):
    return tf.logical_or(truth(x1), truth(x2))


def logical_xor(x1, x2):
    return tf.math.logical_xor(truth(x1), truth(x2))


def logical_not(x):
    return tf.logical_not(truth(x))


def bitwise_and(x, y):
    x, y, dtype = pair(x, y)
    return tf.logical_and(x, y) if dtype is tf.bool else tf.bitwise.bitwise_and(x, y)


def bitwise_or(x, y):
    x, y, dtype = pair(x, y)
    return tf.logical_or(x, y) if dtype is tf.bool else tf.bitwise.bitwise_or(x, y)


def bitwise_xor(x, y):
    x, y, dtype = pair(x, y)
    return tf.math.logical_xor(x, y) if dtype is tf.bool else tf.bitwise.bitwise_xor(x, y)


def bitwise_invert(x):
    x = tensor(x)
    return tf.logical_not(x) if x.dtype is tf.bool else tf.bitwise.invert(x)


def bitwise_not(x):
    return bitwise_invert(x)


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


# Divisors


def gcd(x1, x2):
    # Euclid's algorithm, all elements at once
    x1, x2, dtype = pair(x1, x2)
    if not dtype.is_integer:
        raise TypeError(f"Arguments to gcd must be integers. Received: {dtype.name}")
    x1, x2 = _broadcast(absolute(x1), absolute(x2))

    def step(a, b):
        rest = b != 0
        return tf.where(rest, b, a), tf.where(rest, a % tf.where(rest, b, 1), 0)

    return tf.while_loop(lambda a, b: tf.reduce_any(b != 0), step, (x1, x2))[0]


def lcm(x1, x2):
    x1, x2, dtype = pair(x1, x2)
    if not dtype.is_integer:
        raise TypeError(f"Arguments to lcm must be integers. Received: {dtype.name}")
    x1, x2 = absolute(x1), absolute(x2)
    divisor = gcd(x1, x2)
    return tf.where(divisor == 0, 0, x1 * (x2 // tf.where(divisor == 0, 1, divisor)))
