"""Quantiles, histograms, and reductions that ignore NaN: NumPy functions that `tf.experimental.numpy` does not have."""

import math

import numpy as np

from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array import sort as _sort
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, range_, zeros_like
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import reshape, transpose
from gradtape._src.ops.math import arithmetic, compare, reduction, rounding
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.ops.numpy.elements import isnan
from gradtape._src.ops.numpy.policy import TENSORFLOW, numpy_function
from gradtape._src.ops.numpy.reductions import amax, amin, argmax, argmin, cumprod, cumsum, nanmean, without_nan
from gradtape._src.ops.numpy.shapes import moveaxis

# Quantiles


@numpy_function
def quantile(x, q, axis=None, method="linear", keepdims=False, *, policy=TENSORFLOW):
    """Return the quantiles `q`, from 0 to 1, of the elements over axes; NaN if one of them is NaN."""
    x, q = policy.floating(x), _exact(q)
    rows, shape = _rows(x, policy.axes(axis, x.ndim), keepdims)
    result = _between(_sort.sort(rows, -1), reshape(q, [-1]) * (extents_of(rows)[-1] - 1), method)
    undefined = reduction.reduce_any(isnan(rows), -1, keepdims=True)
    return _arranged(where(undefined, math.nan, result), q, shape)


@numpy_function
def nanquantile(x, q, axis=None, method="linear", keepdims=False, *, policy=TENSORFLOW):
    """Return the quantiles, ignoring NaN; NaN if all elements are NaN."""
    x, q = policy.floating(x), _exact(q)
    rows, shape = _rows(x, policy.axes(axis, x.ndim), keepdims)
    count = reduction.reduce_sum(cast(compare.logical_not(isnan(rows)), "float64"), -1, keepdims=True)
    places = reshape(q, [-1]) * arithmetic.maximum(count - 1.0, 0.0)
    result = _between(_sort.sort(rows, -1), places, method)  # NaN is sorted to the end
    return _arranged(where(count > 0.0, result, math.nan), q, shape)


@numpy_function
def median(x, axis=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the median: the middle of the sorted elements, or the mean of the two in the middle."""
    return quantile(x, 0.5, axis, keepdims=keepdims, policy=policy)


@numpy_function
def percentile(x, q, axis=None, method="linear", keepdims=False, *, policy=TENSORFLOW):
    """Return the percentiles `q`, from 0 to 100."""
    return quantile(x, _exact(q) / 100.0, axis, method, keepdims, policy=policy)


@numpy_function
def nanmedian(x, axis=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the median, ignoring NaN."""
    return nanquantile(x, 0.5, axis, keepdims=keepdims, policy=policy)


@numpy_function
def nanpercentile(x, q, axis=None, method="linear", keepdims=False, *, policy=TENSORFLOW):
    """Return the percentiles `q`, ignoring NaN."""
    return nanquantile(x, _exact(q) / 100.0, axis, method, keepdims, policy=policy)


def _exact(q):
    """Convert quantiles to float64, so that a position among many elements is exact."""
    return cast(q, "float64") if is_tensor(q) else tensor(q, "float64")


def _rows(x, axes, keepdims):
    """Return `x` with the axes to reduce merged into a last one, and the shape of the result."""
    kept = [a for a in range(x.ndim) if a not in axes]
    extents = extents_of(x)
    rows = transpose(x, [*kept, *axes]) if kept and list(axes) != list(range(len(kept), len(extents))) else x
    rows = reshape(rows, (*[extents[a] for a in kept], math.prod([extents[a] for a in axes])))
    return rows, tuple([1 if a in axes else n for a, n in enumerate(extents) if keepdims or a not in axes])


def _between(ordered, place, method):
    """Return the elements of sorted rows at fractional positions, along a new last axis. Positions may differ between rows."""
    low, high = rounding.floor(place), rounding.ceil(place)
    if method == "lower":
        return _at(ordered, low)
    if method == "higher":
        return _at(ordered, high)
    if method == "nearest":
        return _at(ordered, rounding.round(place))
    if method == "midpoint":
        return (_at(ordered, low) + _at(ordered, high)) * 0.5
    if method != "linear":
        raise ValueError(f"Expected method 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. Received: method={method}")
    share = cast(place - low, ordered.dtype)
    below = _at(ordered, low)
    return where(share > 0.0, below * (1.0 - share) + _at(ordered, high) * share, below)  # keeps infinities


def _at(ordered, place):
    """Return sorted rows at integer positions [..., q], as masked sums: these positions cannot be checked in advance."""
    here = compare.equal(range_(extents_of(ordered)[-1], dtype="float64"), place[..., None])
    return reduction.reduce_sum(where(here, ordered[..., None, :], tensor(0, ordered.dtype)), -1)


def _arranged(result, q, shape):
    """Move the last axis, of quantiles, to the front, and reshape it to that of `q`."""
    return reshape(moveaxis(result, -1, 0), (*extents_of(q), *shape))


# Without NaN


@numpy_function
def nancumsum(x, axis=None, dtype=None, *, policy=TENSORFLOW):
    """Return the running sums, ignoring NaN."""
    return cumsum(without_nan(x, zeros_like, policy), axis, dtype, policy=policy)


@numpy_function
def nancumprod(x, axis=None, dtype=None, *, policy=TENSORFLOW):
    """Return the running products, ignoring NaN."""
    return cumprod(without_nan(x, ones_like, policy), axis, dtype, policy=policy)


@numpy_function
def nanmax(x, axis=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the largest element, ignoring NaN; NaN if all elements are NaN."""
    return _passing_nan(amax, -math.inf, math.nan, x, axis, keepdims, policy)


@numpy_function
def nanmin(x, axis=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the smallest element, ignoring NaN; NaN if all elements are NaN."""
    return _passing_nan(amin, math.inf, math.nan, x, axis, keepdims, policy)


@numpy_function
def nanargmax(x, axis=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the index of the largest element, ignoring NaN; -1 if all elements are NaN."""
    return _passing_nan(argmax, -math.inf, -1, x, axis, keepdims, policy)


@numpy_function
def nanargmin(x, axis=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the index of the smallest element, ignoring NaN; -1 if all elements are NaN."""
    return _passing_nan(argmin, math.inf, -1, x, axis, keepdims, policy)


def _passing_nan(function, last, none, x, axis, keepdims, policy):
    """Return an extremum, or its index, with NaN replaced by `last`; `none` if all elements are NaN."""
    x = policy.array(x)
    if not x.dtype.is_floating:
        return function(x, axis, keepdims=keepdims, policy=policy)
    missing = isnan(x)
    found = function(where(missing, last, x), axis, keepdims=keepdims, policy=policy)
    return where(reduction.reduce_all(missing, axis, keepdims), none, found)


@numpy_function
def nanvar(x, axis=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the variance, ignoring NaN in real numbers. Complex numbers are all counted."""
    x = policy.floating(x)
    if x.dtype.is_complex:
        return reduction.reduce_variance(x, axis, keepdims)
    missing = isnan(x)
    away = where(missing, tensor(0, x.dtype), x - nanmean(x, axis, keepdims=True, policy=policy))
    count = reduction.reduce_sum(cast(compare.logical_not(missing), x.dtype), axis, keepdims)
    return reduction.reduce_sum(arithmetic.square(away), axis, keepdims) / count


@numpy_function
def nanstd(x, axis=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the standard deviation, ignoring NaN."""
    return arithmetic.sqrt(nanvar(x, axis, keepdims, policy=policy))


# Counts


@numpy_function
def histogram(x, bins=10, range=None, *, policy=TENSORFLOW):
    """Count the elements in each of equal bins, as floats; return the edges of the bins, too. The last bin is closed."""
    x = reshape(policy.floating(policy.numeric(x)), [-1])
    if range is None:
        low, high = (reduction.reduce_min(x), reduction.reduce_max(x)) if extents_of(x)[0] else (0.0, 1.0)
    else:
        low, high = range
    low, high = policy.array(low, x.dtype), policy.array(high, x.dtype)
    single = compare.equal(low, high)  # an empty range is widened to 1
    low, high = where(single, low - 0.5, low), where(single, high + 0.5, high)
    places = tensor((np.arange(bins + 1) / bins).astype(x.dtype.as_numpy_dtype))
    edges = low * (1.0 - places) + high * places
    bin_of = _sort.searchsorted(edges[1:-1], x, "right") if bins > 1 else zeros_like(x, "int32")
    inside = cast(compare.logical_and(x >= low, x <= high), x.dtype)
    return unsorted_segment_sum(inside, bin_of, bins), edges
