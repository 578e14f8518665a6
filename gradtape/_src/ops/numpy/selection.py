"""Selection by indices, masks and order, and NumPy's indexing."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array import select as _select, sort as _sort
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import gather, take as _entries
from gradtape._src.ops.array.joining import concat, stack, unstack
from gradtape._src.ops.array.points import gather_nd
from gradtape._src.ops.array.shape import broadcast_to, reshape, transpose, zeros
from gradtape._src.ops.math import rounding
from gradtape._src.ops.math.clip import clip_by_value
from gradtape._src.ops.numpy.arrays import asarray
from gradtape._src.ops.numpy.policy import TENSORFLOW, as_array, numpy_function
from gradtape._src.ops.numpy.shapes import moveaxis
from gradtape._src.ops.shapes import axis_of, broadcast_shapes


@numpy_function
def where(condition, x=None, y=None, *, policy=TENSORFLOW):
    """Return `x` where `condition` holds and `y` elsewhere; without both, the indices where it holds.

    >>> tf.experimental.numpy.where([True, False], 1, [5.5, 6.5]).numpy()
    array([1. , 6.5])
    """
    condition = policy.truth(condition)
    if x is None and y is None:
        return nonzero(condition, policy=policy)
    if x is None or y is None:
        raise ValueError("Both x and y must be ndarrays, or both must be None.")
    x, y, _ = policy.operands(x, y)
    return _select.where(condition, x, y)


@numpy_function
def nonzero(a, *, policy=TENSORFLOW):
    """Return the indices of the elements that are not 0, a list with a vector for each axis.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.nonzero([[0, 3], [4, 0]])]
    [[0, 1], [1, 0]]
    """
    x = policy.array(a)
    x = reshape(x, [1]) if not x.ndim else x
    return unstack(cast(_select.where(cast(x, "bool")), policy.PLACES), x.ndim, axis=1)


@numpy_function
def select(condlist, choicelist, default=0, *, policy=TENSORFLOW):
    """Return each element from the first choice whose condition holds, or `default` if none does.

    >>> x = tf.range(4)
    >>> tf.experimental.numpy.select([x < 1, x > 2], [x, x * 10], -1).numpy()
    array([ 0, -1, -1, 30], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if not condlist:
        raise ValueError("condlist must be non-empty")
    found, *choices = policy.promoted(default, *choicelist)
    for condition, choice in zip(condlist[::-1], choices[::-1], strict=True):
        found = where(condition, choice, found, policy=policy)
    return found


@public
def compress(condition, a, axis=None):
    """Return the entries along an axis, by default of the flattened array, for which a vector of bools is True.

    A shorter condition is padded with False.

    >>> tf.experimental.numpy.compress([True, False, True], [1, 2, 3]).numpy()
    array([1, 3])
    """
    condition, x = asarray(condition, bool), as_array(a)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array.")
    if axis is None or not x.ndim:
        x, axis = reshape(x, [-1]), 0
    axis = axis_of(axis, x.ndim)
    missing = extents_of(x)[axis] - extents_of(condition)[0]
    if missing > 0:
        condition = concat([condition, zeros([missing], "bool")], 0)
    return _select.boolean_mask(x, condition, axis=axis)


@public
def take(a, indices, axis=None, out=None, mode="clip"):
    """Return the entries at `indices` along an axis, by default of the flattened array.

    Indices out of range are clipped (`mode="clip"`) or wrap around ("wrap").

    >>> tf.experimental.numpy.take([10, 20, 30], [2, 5]).numpy()
    array([30, 30])
    """
    if out is not None:
        raise ValueError("out argument is not supported in take.")
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"Invalid mode '{mode}' for take")
    if mode == "raise":
        raise ValueError("The 'raise' mode to take is not supported.")
    x, indices = as_array(a), as_array(indices)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    extent = cast(extents_of(x)[axis], indices.dtype)
    within = rounding.floormod(indices, extent) if mode == "wrap" else clip_by_value(indices, 0, extent - 1)
    return gather(x, within, axis=axis)


@public
def take_along_axis(arr, indices, axis):
    """Return the elements of `arr` at `indices` along an axis; the shape is that of `indices`. Negative ones count from the
    end.

    >>> tf.experimental.numpy.take_along_axis([[10, 20], [30, 40]], [[1], [0]], 1).numpy()
    array([[20],
           [30]])
    """
    x, indices = as_array(arr), as_array(indices)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    if x.ndim != indices.ndim:
        raise invalid(f"arr and indices must have one rank, received shapes {x.shape} and {indices.shape}. Use expand_dims.")
    return taken_along(x, indices, axis_of(axis, x.ndim))


def taken_along(x, indices, axis):
    """Return the elements of a tensor at `indices`, of its rank, along an `axis` ≥ 0. The other axes broadcast."""
    last = x.ndim - 1
    x, indices = moveaxis(x, axis, last), moveaxis(indices, axis, last)
    batch = broadcast_shapes(extents_of(x)[:-1], extents_of(indices)[:-1])
    x, indices = [broadcast_to(y, (*batch, extents_of(y)[-1])) for y in (x, indices)]
    return moveaxis(_entries(x, indices, last, last), last, axis)


def _in_order(x, axis):
    """Return an array with comparable elements, bools as integers, and its axis; None flattens the array."""
    x = cast(x, "uint8") if x.dtype.is_bool else x
    return (reshape(x, [-1]), 0) if axis is None else (x, axis)


@numpy_function
def sort(a, axis=-1, kind="quicksort", order=None, *, policy=TENSORFLOW):
    """Return the elements sorted along an axis; None flattens the array first.

    >>> tf.experimental.numpy.sort([3, 1, 2]).numpy()
    array([1, 2, 3])
    """
    if kind != "quicksort":
        raise ValueError(f'Invalid value for argument `kind`. Only kind="quicksort" is supported. Received: kind={kind}')
    _no_order(order)
    x = policy.array(a)
    return cast(_sort.sort(*_in_order(x, axis)), x.dtype)


@numpy_function
def argsort(a, axis=-1, kind="quicksort", order=None, *, policy=TENSORFLOW):
    """Return the indices, int64, that sort the elements along an axis; None flattens the array first.

    >>> tf.experimental.numpy.argsort([3, 1, 2]).numpy()
    array([1, 2, 0])
    """
    if kind not in ("quicksort", "stable"):
        raise ValueError(
            f'Invalid value for argument `kind`. Only kind="quicksort" and kind="stable" are supported. Received: kind={kind}'
        )
    _no_order(order)
    x = policy.array(a)
    if x.dtype.is_complex:
        raise TypeError(f"argsort does not support complex64/complex128 dtypes. Received dtype: {x.dtype!r}")
    return cast(_sort.argsort(*_in_order(x, axis if x.ndim else None)), policy.PLACES)


def _no_order(order):
    if order is not None:
        raise ValueError("The `order` argument is not supported. Pass order=None")


def item(x, key, basic):
    """Return `x[key]` by NumPy's rules. `basic` takes integers, slices, newaxis and an ellipsis.

    Arrays of integers and bools are broadcast to one shape. Its axes replace the arrays if these are adjacent, else they come
    first (NumPy's guide, "Indexing on ndarrays", advanced indexing). As in TensorFlow, plain integers are applied first.
    """
    keys = _filled(x, [each for given in _as_tuple(key) for each in _without_mask(given)])
    if not any(map(_is_array, keys)):
        return basic(x, tuple(keys))
    y = basic(x, tuple([slice(None) if _is_array(k) else k for k in keys]))
    keys = [k for k in keys if not _is_integer(k)]
    axes = [axis for axis, k in enumerate(keys) if _is_array(k)]
    extents = [cast(extents_of(y)[axis], "int64") for axis in axes]
    indices = [cast(as_array(keys[axis]), "int64") for axis in axes]
    indices = [_select.where(i < 0, i + extent, i) for i, extent in zip(indices, extents, strict=True)]
    common = np.broadcast_shapes(*[extents_of(i) for i in indices])
    if len(axes) == 1:
        return gather(y, indices[0], axis=axes[0])
    points = stack([broadcast_to(i, common) for i in indices], axis=-1)
    others = [axis for axis in range(y.ndim) if axis not in axes]
    found = gather_nd(transpose(y, axes + others), points)
    if axes != list(range(axes[0], axes[-1] + 1)):
        return found
    rank, before = len(common), axes[0]
    order = [*range(rank, rank + before), *range(rank), *range(rank + before, found.ndim)]
    return transpose(found, order)


def _as_tuple(key):
    """Convert a key to a tuple with a key per axis. A list that contains slices, newaxis or sequences counts as a tuple."""
    if isinstance(key, tuple):
        return key
    parts = key if isinstance(key, list) else ()
    if any(k is None or k is Ellipsis or isinstance(k, (slice, list, tuple)) or (_is_array(k) and np.ndim(k)) for k in parts):
        return tuple(key)
    return (key,)


def _is_array(key):
    return isinstance(key, (list, tuple, np.ndarray)) or (is_tensor(key) and key.ndim != 0)


def _is_integer(key):
    return isinstance(key, (int, np.integer)) or (is_tensor(key) and not key.ndim)


def _without_mask(key):
    """Replace a mask by the indices of its True elements, one key for each of its axes. Other keys are yielded unchanged."""
    if isinstance(key, bool) or _is_array(key):
        x = as_array(key)
        if x.dtype.is_bool:
            if not x.ndim:
                raise IndexError("a mask without axes selects nothing: use tf.where, or x[None] for a further axis.")
            yield from nonzero(x)
            return
    yield key


def _filled(x, keys):
    """Replace an ellipsis in the keys by slices, or add slices behind the last key."""
    places = [i for i, key in enumerate(keys) if key is Ellipsis]
    place = places[0] if places else len(keys)
    taken = sum(key is not None and key is not Ellipsis for key in keys)
    rest = [slice(None)] * (x.ndim - taken)
    return [*keys[:place], *rest, *keys[place + bool(places) :]]
