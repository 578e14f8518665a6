"""Functions of one operand, element by element."""

import functools
import math

from keras.src.backend.common import standardize_dtype
from keras.src.backend.config import floatx

import gradtape as tf
from keras_gradtape.src.ops._numpy.promotion import floating, numeric, tensor


def _elementwise(name, function, doc):
    """`function` of a tensor, which is made floating."""

    def call(x):
        return function(floating(x))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


arccos = _elementwise("arccos", tf.acos, "Inverse cosine.")
arccosh = _elementwise("arccosh", tf.acosh, "Inverse hyperbolic cosine.")
arcsin = _elementwise("arcsin", tf.asin, "Inverse sine.")
arcsinh = _elementwise("arcsinh", tf.asinh, "Inverse hyperbolic sine.")
arctan = _elementwise("arctan", tf.atan, "Inverse tangent.")
arctanh = _elementwise("arctanh", tf.atanh, "Inverse hyperbolic tangent.")
ceil = _elementwise("ceil", tf.math.ceil, "The smallest whole number not below.")
cos = _elementwise("cos", tf.cos, "Cosine.")
cosh = _elementwise("cosh", tf.cosh, "Hyperbolic cosine.")
exp = _elementwise("exp", tf.exp, "Exponential.")
expm1 = _elementwise("expm1", tf.math.expm1, "Exponential less 1.")
floor = _elementwise("floor", tf.floor, "The largest whole number not above.")
log = _elementwise("log", tf.math.log, "Natural logarithm.")
log1p = _elementwise("log1p", tf.math.log1p, "Natural logarithm of 1 more.")
reciprocal = _elementwise("reciprocal", tf.math.reciprocal, "1 by the operand.")
sin = _elementwise("sin", tf.sin, "Sine.")
sinh = _elementwise("sinh", tf.sinh, "Hyperbolic sine.")
sqrt = _elementwise("sqrt", tf.sqrt, "Square root.")
tan = _elementwise("tan", tf.tan, "Tangent.")
tanh = _elementwise("tanh", tf.tanh, "Hyperbolic tangent.")


def log2(x):
    return tf.math.log(floating(x)) / math.log(2.0)


def log10(x):
    return tf.math.log(floating(x)) / math.log(10.0)


def exp2(x):
    return tf.exp(floating(x) * math.log(2.0))


def cbrt(x):
    x = floating(x)
    sign = tf.where(x < 0, tf.constant(-1.0, x.dtype), 1.0)
    return sign * tf.pow(sign * x, 1.0 / 3.0)


def sinc(x):
    x = floating(x) * math.pi
    zero = tf.equal(x, 0.0)
    away = tf.where(zero, 1.0, x)
    # At 0 its series, so that the second derivative is right, too.
    return tf.where(zero, 1.0 - tf.square(x) / 6.0, tf.sin(away) / away)


def i0(x):
    return tf.math.bessel_i0(_float64_of_int64(x))


def deg2rad(x):
    return _float64_of_int64(x) * (math.pi / 180.0)


def rad2deg(x):
    return _float64_of_int64(x) * (180.0 / math.pi)


def _float64_of_int64(x):
    x = tensor(x)
    return tf.cast(x, tf.float64) if x.dtype is tf.int64 else floating(x)


# Powers, signs, roundings


def of_rows(function):
    """`function` of a tensor, and of each row of IndexedSlices, as on TensorFlow: rows of one index are added afterwards."""

    @functools.wraps(function)
    def call(x, *args):
        if isinstance(x, tf.IndexedSlices):
            return tf.IndexedSlices(function(x.values, *args), x.indices, x.dense_shape)
        return function(x, *args)

    return call


@of_rows
def square(x):
    return tf.square(numeric(x))


def negative(x):
    x = tensor(x)
    return 0 - x if x.dtype.is_unsigned else -x


@of_rows
def absolute(x):
    x = tensor(x)
    return x if x.dtype.is_unsigned or x.dtype.is_bool else tf.abs(x)


def abs(x):
    return absolute(x)


def fabs(x):
    return tf.abs(floating(x))


def sign(x):
    x = tensor(x)
    if x.dtype.is_unsigned or x.dtype.is_bool:
        return tf.cast(x != 0, x.dtype) if x.dtype.is_unsigned else x
    return tf.sign(x)


_SIGNED = {2: tf.int16, 4: tf.int32, 8: tf.int64}


def signbit(x):
    x = tensor(x)
    if x.dtype.is_floating:
        x = tf.bitcast(x, _SIGNED[x.dtype.size])
    elif x.dtype.is_bool or x.dtype.is_unsigned:
        return tf.zeros_like(x, tf.bool)
    return x < 0


def trunc(x):
    x = tensor(x)
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x)) if x.dtype.is_floating else x


def round(x, decimals=0):
    x = tensor(x)
    dtype = x.dtype
    if decimals == 0 or (decimals > 0 and not dtype.is_floating):
        return tf.round(x) if dtype.is_floating else x
    factor = 10.0**decimals
    x = x if dtype.is_floating else tf.cast(x, floatx())
    return tf.cast(tf.round(x * factor) / factor, dtype)


# What is not finite, and complex parts


def isfinite(x):
    x = tensor(x)
    if x.dtype.is_complex:
        return tf.logical_and(tf.math.is_finite(tf.math.real(x)), tf.math.is_finite(tf.math.imag(x)))
    return tf.math.is_finite(x) if x.dtype.is_floating else tf.ones_like(x, tf.bool)


def isinf(x):
    return _any_part(tf.math.is_inf, x)


def isnan(x):
    return _any_part(tf.math.is_nan, x)


def _any_part(predicate, x):
    x = tensor(x)
    if x.dtype.is_complex:
        return tf.logical_or(predicate(tf.math.real(x)), predicate(tf.math.imag(x)))
    return predicate(x) if x.dtype.is_floating else tf.zeros_like(x, tf.bool)


def isposinf(x):
    x = tensor(x)
    return tf.equal(x, float("inf")) if x.dtype.is_floating else tf.zeros_like(x, tf.bool)


def isneginf(x):
    x = tensor(x)
    return tf.equal(x, float("-inf")) if x.dtype.is_floating else tf.zeros_like(x, tf.bool)


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    x = tensor(x)
    if not x.dtype.is_floating:
        return x
    largest, smallest = [float(limit) for limit in (x.dtype.max, x.dtype.min)]
    x = tf.where(tf.math.is_nan(x), tf.cast(nan, x.dtype), x)
    x = tf.where(isposinf(x), largest if posinf is None else posinf, x)
    return tf.where(isneginf(x), smallest if neginf is None else neginf, x)


def isreal(x):
    x = tensor(x)
    return tf.equal(tf.math.imag(x), 0.0) if x.dtype.is_complex else tf.ones_like(x, tf.bool)


def real(x):
    x = tensor(x)
    return tf.math.real(x) if x.dtype.is_complex else x


def imag(x):
    x = tensor(x)
    return tf.math.imag(x) if x.dtype.is_complex else tf.zeros_like(x)


def angle(x):
    return tf.math.angle(floating(x))


def conjugate(x):
    x = tensor(x)
    return tf.math.conj(x) if x.dtype.is_complex else x


def conj(x):
    return conjugate(x)


def copy(x):
    return tf.identity(tensor(x))


def array(x, dtype=None):
    x = tensor(x)
    return x if dtype is None else tf.cast(x, tf.as_dtype(standardize_dtype(dtype)))


def view(x, dtype=None):
    x = tensor(x)
    dtype = x.dtype if dtype is None else tf.as_dtype(standardize_dtype(dtype))
    shape, old, new = tuple(x.shape), x.dtype.size, dtype.size
    if old == new:
        return tf.bitcast(x, dtype)
    if not shape or shape[-1] * old % new:
        raise ValueError(
            f"Cannot view a tensor of shape {shape} and dtype {x.dtype.name} as {dtype.name}: the bytes of its last axis are no "
            "multiple of the new dtype's."
        )
    if old < new:
        return tf.bitcast(tf.reshape(x, (*shape[:-1], shape[-1] * old // new, new // old)), dtype)
    return tf.reshape(tf.bitcast(x, dtype), (*shape[:-1], shape[-1] * old // new))
