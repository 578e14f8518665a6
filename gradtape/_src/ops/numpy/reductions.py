"""Sums, means and extrema over axes, and running sums, with NumPy's dtypes."""

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array import sort
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, zeros_like
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import broadcast_to, expand_dims, reshape
from gradtape._src.ops.linalg.matmul import tensordot
from gradtape._src.ops.math import arithmetic, compare, cumulative, reduction
from gradtape._src.ops.numpy.arrays import asarray
from gradtape._src.ops.numpy.dtypes import default_float, result_type
from gradtape._src.ops.numpy.elements import isnan
from gradtape._src.ops.numpy.policy import TENSORFLOW, as_array, floating, numpy_function


def _total(function, on_bools, a, axis, dtype, keepdims, policy):
    if dtype is None:
        return function(policy.summed(a), axis, bool(keepdims))
    x = policy.array(a, policy.dtype(dtype))
    return (on_bools if x.dtype.is_bool else function)(x, axis, bool(keepdims))


def _extremum(function, on_bools, of_two, a, axis, keepdims, initial, policy):
    x = policy.array(a)
    if initial is None:
        policy.check_extremum(x, axis)
    reduced = (on_bools if x.dtype.is_bool else function)(x, axis, bool(keepdims))
    if initial is None:
        return reduced
    if x.dtype.is_bool:
        return cast(of_two(cast(reduced, "int32"), int(initial)), "bool")
    return of_two(reduced, initial)


def _no_out(out):
    if out is not None:
        raise ValueError("Setting out is not supported.")


@numpy_function
def sum(a, axis=None, dtype=None, keepdims=None, *, policy=TENSORFLOW):
    """Return the sum over axes, by default all. Small integers and bools are converted to int64.

    >>> tf.experimental.numpy.sum([[1, 2], [3, 4]], axis=0).numpy()
    array([4, 6])
    """
    return _total(reduction.reduce_sum, reduction.reduce_any, a, axis, dtype, keepdims, policy)


@numpy_function
def prod(a, axis=None, dtype=None, keepdims=None, *, policy=TENSORFLOW):
    """Return the product over axes, by default all. Small integers and bools are converted to int64.

    >>> tf.experimental.numpy.prod([[1, 2], [3, 4]], axis=0).numpy()
    array([3, 8])
    """
    return _total(reduction.reduce_prod, reduction.reduce_all, a, axis, dtype, keepdims, policy)


@numpy_function
def mean(a, axis=None, dtype=None, out=None, keepdims=None, *, policy=TENSORFLOW):
    """Return the mean over axes, by default all; a float for integers.

    >>> tf.experimental.numpy.mean([[1, 2], [3, 5]], axis=0).numpy()
    array([2. , 3.5])
    """
    _no_out(out)
    x = policy.averaged(a) if dtype is None else policy.array(a, policy.dtype(dtype))
    return reduction.reduce_mean(x, axis, bool(keepdims))


@numpy_function
def amax(a, axis=None, out=None, keepdims=None, *, initial=None, policy=TENSORFLOW):
    """Return the largest element over axes, by default all, or `initial` if that is larger.

    >>> tf.experimental.numpy.amax([[1, 2], [3, 0]], axis=0).numpy()
    array([3, 2])
    """
    _no_out(out)
    return _extremum(reduction.reduce_max, reduction.reduce_any, arithmetic.maximum, a, axis, keepdims, initial, policy)


@numpy_function
def amin(a, axis=None, out=None, keepdims=None, *, initial=None, policy=TENSORFLOW):
    """Return the smallest element over axes, by default all, or `initial` if that is smaller.

    >>> tf.experimental.numpy.amin([[1, 2], [3, 0]], axis=0).numpy()
    array([1, 0])
    """
    _no_out(out)
    return _extremum(reduction.reduce_min, reduction.reduce_all, arithmetic.minimum, a, axis, keepdims, initial, policy)


@numpy_function
def max(a, axis=None, keepdims=None, *, initial=None, policy=TENSORFLOW):
    """Return the largest element over axes, as `amax`.

    >>> tf.experimental.numpy.max([[1, 2], [3, 0]]).numpy()
    np.int64(3)
    """
    return amax(a, axis, keepdims=keepdims, initial=initial, policy=policy)


@numpy_function
def min(a, axis=None, keepdims=None, *, initial=None, policy=TENSORFLOW):
    """Return the smallest element over axes, as `amin`.

    >>> tf.experimental.numpy.min([[1, 2], [3, 0]]).numpy()
    np.int64(0)
    """
    return amin(a, axis, keepdims=keepdims, initial=initial, policy=policy)


@numpy_function
def ptp(a, axis=None, keepdims=None, *, policy=TENSORFLOW):
    """Return the difference between the largest and the smallest element over axes.

    >>> tf.experimental.numpy.ptp([[1, 2], [5, 0]], axis=0).numpy()
    array([4, 2])
    """
    x = policy.numeric(a)
    return amax(x, axis, keepdims=keepdims) - amin(x, axis, keepdims=keepdims)


@numpy_function
def all(a, axis=None, keepdims=None, *, policy=TENSORFLOW):
    """Return whether all elements over axes are not 0.

    >>> tf.experimental.numpy.all([[1, 0], [1, 1]], axis=0).numpy()
    array([ True, False])
    """
    return reduction.reduce_all(policy.truth(a), axis, bool(keepdims))


@numpy_function
def any(a, axis=None, keepdims=None, *, policy=TENSORFLOW):
    """Return whether any element over axes is not 0.

    >>> tf.experimental.numpy.any([[1, 0], [1, 0]], axis=0).numpy()
    array([ True, False])
    """
    return reduction.reduce_any(policy.truth(a), axis, bool(keepdims))


@public
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=None):
    """Return the variance over axes: the sum of squared deviations from the mean, divided by n - `ddof`.

    >>> tf.experimental.numpy.var([1.0, 2.0, 6.0], ddof=1).numpy()
    np.float64(7.0)
    """
    _no_out(out)
    x = floating(a) if dtype is None else asarray(a, result_type(a, dtype))
    found = reduction.reduce_variance(x, axis, bool(keepdims))
    if ddof:
        count = x.node.aval.size // found.node.aval.size
        found = found * tensor(count / (count - ddof), found.dtype) if count != ddof else found / tensor(0, found.dtype)
    return found if dtype is None else cast(found, result_type(dtype))


@public
def std(a, axis=None, keepdims=None):
    """Return the standard deviation over axes, the root of the variance.

    >>> tf.experimental.numpy.std([1.0, 3.0]).numpy()
    np.float64(1.0)
    """
    return reduction.reduce_std(floating(a), axis, bool(keepdims))


def without_nan(a, filling, policy):
    """Replace NaN in an array by the elements of `filling(array)`."""
    x = policy.array(a)
    return where(isnan(x), filling(x), x) if x.dtype.is_floating or x.dtype.is_complex else x


@numpy_function
def nansum(a, axis=None, dtype=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the sum over axes, ignoring NaN.

    >>> tf.experimental.numpy.nansum([1.0, np.nan, 2.0]).numpy()
    np.float64(3.0)
    """
    return sum(without_nan(a, zeros_like, policy), axis, dtype, keepdims, policy=policy)


@numpy_function
def nanprod(a, axis=None, dtype=None, keepdims=False, *, policy=TENSORFLOW):
    """Return the product over axes, ignoring NaN.

    >>> tf.experimental.numpy.nanprod([3.0, np.nan, 2.0]).numpy()
    np.float64(6.0)
    """
    return prod(without_nan(a, ones_like, policy), axis, dtype, keepdims, policy=policy)


@numpy_function
def nanmean(a, axis=None, dtype=None, keepdims=None, *, policy=TENSORFLOW):
    """Return the mean over axes, ignoring NaN.

    >>> tf.experimental.numpy.nanmean([1.0, np.nan, 2.0]).numpy()
    np.float64(1.5)
    """
    x = policy.array(a)
    if x.dtype.is_integer or x.dtype.is_bool:
        return mean(x, axis, dtype, keepdims=keepdims, policy=policy)
    kept = compare.logical_not(isnan(x))
    return nansum(x, axis, dtype, keepdims) / sum(kept, axis, dtype or x.dtype, keepdims)


@public
def average(a, axis=None, weights=None, returned=False):
    """Return the weighted mean over an axis; with `returned`, a pair of it and the sum of the weights.

    `weights` has the shape of `a`, or is a vector along `axis`. ValueError if `axis` is neither an int nor None.

    >>> tf.experimental.numpy.average([1.0, 2.0], weights=[3.0, 1.0]).numpy()
    np.float64(1.25)
    """
    if axis is not None and not isinstance(axis, int):
        raise ValueError(f"Argument `axis` must be an integer. Received axis={axis} (of type {type(axis)})")
    x = as_array(a)
    exact = not (x.dtype.is_floating or x.dtype.is_complex)
    if weights is None:
        x = floating(x)
        found = reduction.reduce_mean(x, axis)
        total = cast(x.node.aval.size if axis is None else extents_of(x)[axis], x.dtype)
    else:
        dtype = result_type(x.dtype, weights, *[default_float()] if exact else [])
        x, w = as_array(x, dtype), as_array(weights, dtype)
        if axis is None or x.ndim == w.ndim:
            if extents_of(x) != extents_of(w):
                raise ValueError(f"`weights` must have the shape {x.shape} of `a`, received {w.shape}. A vector needs an axis.")
            total = reduction.reduce_sum(w, axis)
            found = reduction.reduce_sum(x * w, axis) / total
        else:
            total = reduction.reduce_sum(w)
            found = tensordot(x, w, [[axis], [0]]) / total
    return (found, broadcast_to(total, extents_of(found))) if returned else found


@numpy_function
def count_nonzero(a, axis=None, *, policy=TENSORFLOW):
    """Return the number of elements over axes that are not 0, int64.

    >>> tf.experimental.numpy.count_nonzero([[1, 0], [1, 2]]).numpy()
    np.int64(3)
    """
    return reduction.count_nonzero(policy.array(a), axis, dtype=policy.PLACES)


def _running(function, a, axis, dtype, policy):
    x = policy.running(a) if dtype is None else policy.array(a, policy.dtype(dtype))
    return function(reshape(x, [-1]), 0) if axis is None else function(x, axis)


@numpy_function
def cumsum(a, axis=None, dtype=None, *, policy=TENSORFLOW):
    """Return the running sums along an axis; without one, of the flattened array.

    >>> tf.experimental.numpy.cumsum([[1, 2], [3, 4]], axis=0).numpy()
    array([[1, 2],
           [4, 6]])
    """
    return _running(cumulative.cumsum, a, axis, dtype, policy)


@numpy_function
def cumprod(a, axis=None, dtype=None, *, policy=TENSORFLOW):
    """Return the running products along an axis; without one, of the flattened array.

    >>> tf.experimental.numpy.cumprod([1, 2, 3]).numpy()
    array([1, 2, 6])
    """
    return _running(cumulative.cumprod, a, axis, dtype, policy)


@numpy_function
def argmax(a, axis=None, *, keepdims=False, policy=TENSORFLOW):
    """Return the index of the largest element along an axis; without one, in the flattened array. int64.

    >>> tf.experimental.numpy.argmax([[1, 9], [3, 4]], axis=1).numpy()
    array([1, 1])
    """
    return _place(sort.argmax, a, axis, keepdims, policy)


@numpy_function
def argmin(a, axis=None, *, keepdims=False, policy=TENSORFLOW):
    """Return the index of the smallest element along an axis; without one, in the flattened array. int64.

    >>> tf.experimental.numpy.argmin([[1, 9], [3, 4]], axis=1).numpy()
    array([0, 0])
    """
    return _place(sort.argmin, a, axis, keepdims, policy)


def _place(function, a, axis, keepdims, policy):
    x = policy.ordered(a)
    if axis is None or not x.ndim:
        place = function(reshape(x, [-1]), 0, policy.PLACES)
        return reshape(place, [1] * x.ndim) if keepdims else place
    place = function(x, axis, policy.PLACES)
    return expand_dims(place, axis) if keepdims else place
