"""Reductions over axes, and running ones."""

from keras.src.backend.common import standardize_dtype

import gradtape as tf
from keras_gradtape.src.ops._numpy.promotion import axes_of, canonical, cast, floating, numeric, pair, result_type, tensor, truth
from keras_gradtape.src.ops._numpy.rearrange import ravel

# What the sum of many small integers needs room for
_SUMS = {
    tf.bool: tf.int32,
    tf.int8: tf.int32,
    tf.int16: tf.int32,
    tf.uint8: tf.uint32,
    tf.uint16: tf.uint32,
}


def _widened(x, dtype=None):
    """`x` in the dtype of its sum or product."""
    x = tensor(x)
    return cast(x, _SUMS.get(x.dtype, x.dtype) if dtype is None else tf.as_dtype(standardize_dtype(dtype)))


def sum(x, axis=None, keepdims=False):
    if isinstance(x, tf.SparseTensor):
        return tf.sparse.from_dense(tf.sparse.reduce_sum(x, axis, keepdims))
    return tf.reduce_sum(_widened(x), axis, keepdims)


def prod(x, axis=None, keepdims=False, dtype=None):
    return tf.reduce_prod(_widened(x, dtype), axis, keepdims)


def mean(x, axis=None, keepdims=False):
    # of 16-bit floats it is computed in float32
    return tf.reduce_mean(_floats(x), axis, keepdims)


def _floats(x):
    """`x` as floats, in float32 where it holds integers."""
    x = tensor(x)
    return x if x.dtype.is_floating or x.dtype.is_complex else tf.cast(x, result_type(x.dtype, "float32"))


def average(x, axis=None, weights=None):
    if weights is None:
        return tf.reduce_mean(floating(x), axis)
    x, weights, _ = pair(x, weights, float)
    if axis is not None and weights.ndim < x.ndim:
        axis = canonical(axis, x.ndim)
        weights = tf.reshape(weights, [-1 if a == axis else 1 for a in range(x.ndim)])
    total = tf.reduce_sum(tf.broadcast_to(weights, x.shape), axis)
    return tf.reduce_sum(x * weights, axis) / total


def max(x, axis=None, keepdims=False, initial=None):
    return _extremum(tf.reduce_max, tf.reduce_any, tf.maximum, x, axis, keepdims, initial)


def min(x, axis=None, keepdims=False, initial=None):
    return _extremum(tf.reduce_min, tf.reduce_all, tf.minimum, x, axis, keepdims, initial)


def _extremum(function, of_bools, with_initial, x, axis, keepdims, initial):
    x = tensor(x)
    if initial is None and 0 in x.shape and any_empty(x, axis):
        raise ValueError(f"Cannot compute the extremum of an empty tensor. Received: shape={tuple(x.shape)}, axis={axis}")
    if x.dtype.is_bool:
        result = of_bools(x, axis, keepdims)
        return result if initial is None else tf.cast(with_initial(tf.cast(result, tf.int32), int(initial)), tf.bool)
    result = function(x, axis, keepdims)
    return result if initial is None else with_initial(result, initial)


def any_empty(x, axis):
    """Return whether an axis to be reduced is empty."""
    return 0 in [x.shape[a] for a in axes_of(axis, x.ndim)]


def amax(x, axis=None, keepdims=False):
    return max(x, axis, keepdims)


def amin(x, axis=None, keepdims=False):
    return min(x, axis, keepdims)


def ptp(x, axis=None, keepdims=False):
    x = numeric(x)
    return tf.reduce_max(x, axis, keepdims) - tf.reduce_min(x, axis, keepdims)


def all(x, axis=None, keepdims=False):
    return tf.reduce_all(truth(x), axis, keepdims)


def any(x, axis=None, keepdims=False):
    return tf.reduce_any(truth(x), axis, keepdims)


def count_nonzero(x, axis=None):
    return tf.math.count_nonzero(tensor(x), axis, dtype=tf.int32)


def var(x, axis=None, keepdims=False):
    x = tensor(x)
    dtype = result_type(x.dtype, float)
    if dtype.is_complex:
        return tf.math.reduce_variance(x, axis, keepdims)
    return tf.cast(tf.math.reduce_variance(cast(x, result_type(x.dtype, "float32")), axis, keepdims), dtype)


def std(x, axis=None, keepdims=False):
    return tf.sqrt(var(x, axis, keepdims))


# Where

# Processors take -0, and what is nearer to 0 than normal numbers, for 0: in argmax and argmin they count as less, as with Keras's
# other backends. Their exponent's bits are 0, so that as integers they are the least: the integer type, the first that is normal,
# and what stands for them.
_BELOW_ZERO = {
    tf.float32: (tf.int32, -(2**31) + 2**23, -(2.0**-126)),
    tf.float64: (tf.int64, -(2**63) + 2**52, -(2.0**-1022)),
}


def argmax(x, axis=None, keepdims=False):
    return _place(tf.argmax, x, axis, keepdims)


def argmin(x, axis=None, keepdims=False):
    return _place(tf.argmin, x, axis, keepdims)


def _place(function, x, axis, keepdims):
    x = tensor(x)
    rank = x.ndim
    if x.dtype.is_floating and rank:
        x = tf.cast(x, tf.float32) if x.dtype.size == 2 else x
        integer, normal, tiny = _BELOW_ZERO[x.dtype]
        x = tf.where(tf.bitcast(x, integer) < normal, tiny, x)
    if axis is None:
        place = function(ravel(x), 0, tf.int32)
        return tf.reshape(place, (1,) * rank) if keepdims else place
    place = function(x, axis, tf.int32)
    return tf.expand_dims(place, axis) if keepdims else place


# Running sums and products


def cumsum(x, axis=None, dtype=None):
    return _running(tf.cumsum, x, axis, dtype)


def cumprod(x, axis=None, dtype=None):
    return _running(tf.math.cumprod, x, axis, dtype)


def _running(function, x, axis, dtype):
    x = numeric(x if dtype is None else cast(tensor(x), tf.as_dtype(standardize_dtype(dtype))))
    return function(ravel(x), 0) if axis is None else function(x, axis)


def diff(a, n=1, axis=-1):
    a = tensor(a)
    if n < 0:
        raise ValueError(f"Order `n` must be non-negative. Received n={n}")
    if n == 0:
        return a
    if a.ndim == 0:
        raise ValueError(f"`diff` requires input that is at least one dimensional. Received: a={a}")
    axis = canonical(axis, a.ndim)
    after = (*[slice(None)] * axis, slice(1, None))
    before = (*[slice(None)] * axis, slice(None, -1))
    for _ in range(n):
        a = tf.not_equal(a[after], a[before]) if a.dtype.is_bool else a[after] - a[before]
    return a


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = floating(y)
    axis = canonical(axis, y.ndim)
    if x is None:
        widths = dx if isinstance(dx, (int, float)) else cast(tensor(dx), y.dtype)
    else:
        x = cast(tensor(x), y.dtype)
        widths = diff(x) if x.ndim == 1 else diff(x, axis=axis)
        if x.ndim == 1:
            widths = tf.reshape(widths, [-1 if a == axis else 1 for a in range(y.ndim)])
    after = (*[slice(None)] * axis, slice(1, None))
    before = (*[slice(None)] * axis, slice(None, -1))
    return tf.reduce_sum((y[after] + y[before]) * 0.5 * widths, axis)
