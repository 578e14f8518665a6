"""Quantiles, counts by bins, and reductions that leave NaN out."""

import math

import numpy as np

import gradtape as tf
from keras_gradtape.src.ops._numpy.promotion import axes_of, cast, floating, numeric, result_type, tensor
from keras_gradtape.src.ops._numpy.rearrange import ravel
from keras_gradtape.src.ops._numpy.reduction import cumprod, cumsum, max, mean, min, prod, sum, var
from keras_gradtape.src.ops.core import convert_to_tensor

# Quantiles


def median(x, axis=None, keepdims=False):
    return quantile(x, 0.5, axis, keepdims=keepdims)


def percentile(x, q, axis=None, method="linear", keepdims=False):
    return quantile(x, _share(q), axis, method, keepdims)


def _share(q):
    """Percents as parts of one."""
    return _exact(q) / 100.0


def _exact(q):
    """Quantiles in float64, so that a place among many elements is exact."""
    return cast(tensor(q), tf.float64) if tf.is_tensor(q) else convert_to_tensor(q, "float64")


def quantile(x, q, axis=None, method="linear", keepdims=False):
    x, q = floating(x), _exact(q)
    rows, shape = _rows(x, axis, keepdims)
    ordered = tf.sort(rows, -1)
    result = _between(ordered, ravel(q) * (rows.shape[-1] - 1), method)
    undefined = tf.reduce_any(tf.math.is_nan(rows), -1, keepdims=True)
    return _arranged(tf.where(undefined, math.nan, result), q, shape)


def nanmedian(x, axis=None, keepdims=False):
    return nanquantile(x, 0.5, axis, keepdims=keepdims)


def nanpercentile(x, q, axis=None, method="linear", keepdims=False):
    return nanquantile(x, _share(q), axis, method, keepdims)


def nanquantile(x, q, axis=None, method="linear", keepdims=False):
    x, q = floating(x), _exact(q)
    rows, shape = _rows(x, axis, keepdims)
    ordered = tf.sort(rows, -1)  # NaN comes last
    count = tf.reduce_sum(tf.cast(tf.logical_not(tf.math.is_nan(rows)), tf.float64), -1, keepdims=True)
    result = _between(ordered, ravel(q) * tf.maximum(count - 1.0, 0.0), method)
    return _arranged(tf.where(count > 0.0, result, math.nan), q, shape)


def _rows(x, axis, keepdims):
    """`x` with the axes to be reduced as one last axis, and the shape of the result."""
    axes = axes_of(axis, x.ndim)
    kept = [a for a in range(x.ndim) if a not in axes]
    extents = tuple(x.shape)
    rows = tf.transpose(x, [*kept, *axes]) if kept and list(axes) != list(range(len(kept), len(extents))) else x
    rows = tf.reshape(rows, (*[extents[a] for a in kept], math.prod([extents[a] for a in axes])))
    return rows, tuple([1 if a in axes else n for a, n in enumerate(extents) if keepdims or a not in axes])


def _between(ordered, place, method):
    """The elements of sorted rows at fractional places, which may differ from row to row, along a new last axis."""
    low, high = tf.floor(place), tf.math.ceil(place)
    if method == "lower":
        return _at(ordered, low)
    if method == "higher":
        return _at(ordered, high)
    if method == "nearest":
        return _at(ordered, tf.round(place))
    if method == "midpoint":
        return (_at(ordered, low) + _at(ordered, high)) * 0.5
    if method != "linear":
        raise ValueError(f"Expected method 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. Received: method={method}")
    share = cast(place - low, ordered.dtype)
    below = _at(ordered, low)
    return tf.where(share > 0.0, below * (1.0 - share) + _at(ordered, high) * share, below)  # an infinity stays one


def _at(ordered, place):
    """Sorted rows at whole `place`s [..., q]: sums of one element, as places that depend on values cannot be checked ahead."""
    here = tf.equal(tf.range(ordered.shape[-1], dtype=tf.float64), place[..., None])
    return tf.reduce_sum(tf.where(here, ordered[..., None, :], tf.zeros((), ordered.dtype)), -1)


def _arranged(result, q, shape):
    """The last axis, of quantiles, first, in the shape of `q`."""
    rank = result.ndim
    result = tf.transpose(result, (rank - 1, *range(rank - 1))) if rank > 1 else result
    return tf.reshape(result, (*q.shape, *shape))


# Without NaN


def _filled(x, value):
    """`x` with `value` for NaN."""
    x = tensor(x)
    return tf.where(tf.math.is_nan(x), tf.constant(value, x.dtype), x) if x.dtype.is_floating else x


def nansum(x, axis=None, keepdims=False):
    return sum(_filled(x, 0), axis, keepdims)


def nanprod(x, axis=None, keepdims=False):
    return prod(_filled(x, 1), axis, keepdims)


def nancumsum(x, axis=None, dtype=None):
    return cumsum(_filled(x, 0), axis, dtype)


def nancumprod(x, axis=None, dtype=None):
    return cumprod(_filled(x, 1), axis, dtype)


def nanmax(x, axis=None, keepdims=False):
    return _nan_extremum(max, -math.inf, x, axis, keepdims)


def nanmin(x, axis=None, keepdims=False):
    return _nan_extremum(min, math.inf, x, axis, keepdims)


def _nan_extremum(function, last, x, axis, keepdims):
    x = tensor(x)
    if not x.dtype.is_floating:
        return function(x, axis, keepdims)
    missing = tf.math.is_nan(x)
    found = function(tf.where(missing, last, x), axis, keepdims)
    return tf.where(tf.reduce_all(missing, axis, keepdims), math.nan, found)


def nanmean(x, axis=None, keepdims=False):
    x = tensor(x)
    if not x.dtype.is_floating:
        return mean(x, axis, keepdims)
    return tf.reduce_sum(_filled(x, 0), axis, keepdims) / _count(x, axis, keepdims)


def _count(x, axis, keepdims):
    """Return how many elements are not NaN."""
    return tf.reduce_sum(tf.cast(tf.logical_not(tf.math.is_nan(x)), x.dtype), axis, keepdims)


def nanvar(x, axis=None, keepdims=False):
    x = floating(x)
    if x.dtype.is_complex:
        return var(x, axis, keepdims)
    away = tf.where(tf.math.is_nan(x), tf.zeros((), x.dtype), x - nanmean(x, axis, keepdims=True))
    return tf.reduce_sum(tf.square(away), axis, keepdims) / _count(x, axis, keepdims)


def nanstd(x, axis=None, keepdims=False):
    return tf.sqrt(nanvar(x, axis, keepdims))


# Counts


def bincount(x, weights=None, minlength=0, sparse=False):
    x = tensor(x)
    dtype = tf.int32
    if weights is not None:
        weights = tensor(weights)
        dtype = result_type(x.dtype, weights.dtype)
        if dtype not in (tf.int32, tf.int64, tf.float32, tf.float64):
            weights = tf.cast(weights, tf.int32 if dtype.is_integer else tf.float32)
        else:
            weights = cast(weights, dtype)
    x = cast(x, tf.int64 if x.dtype.size > 4 else tf.int32)
    if sparse:
        return tf.cast(tf.sparse.bincount(x, weights, -1, minlength), dtype)
    return cast(tf.math.bincount(x, weights, minlength=minlength, axis=-1), dtype)


def histogram(x, bins=10, range=None):
    x = numeric(x)
    dtype = result_type(x.dtype, float)
    x = ravel(cast(x, dtype))
    if range is None:
        low, high = (tf.reduce_min(x), tf.reduce_max(x)) if x.shape[0] else (0.0, 1.0)
    else:
        low, high = range
    low, high = convert_to_tensor(low, dtype), convert_to_tensor(high, dtype)
    single = tf.equal(low, high)  # a range of nothing is one wide
    low, high = tf.where(single, low - 0.5, low), tf.where(single, high + 0.5, high)
    places = tf.convert_to_tensor((np.arange(bins + 1) / bins).astype(dtype.as_numpy_dtype))
    edges = low * (1.0 - places) + high * places
    bin_of = tf.searchsorted(edges[1:-1], x, "right") if bins > 1 else tf.zeros(x.shape, tf.int32)
    inside = tf.cast(tf.logical_and(x >= low, x <= high), dtype)
    return tf.math.unsorted_segment_sum(inside, bin_of, bins), edges
