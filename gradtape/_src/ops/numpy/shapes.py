"""Changes of shape: moving axes, joining, splitting, repeating and rotating."""

import itertools

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.ops.array import extents, joining, rearrange, shape as _shape
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.numpy.policy import TENSORFLOW, as_array, numpy_function


@public
def shape(a):
    """Return the shape of an array, a `tf.TensorShape`.

    >>> tf.experimental.numpy.shape([[1, 2, 3]])
    TensorShape([1, 3])
    """
    return as_array(a).shape


@numpy_function
def ndim(a, *, policy=TENSORFLOW):
    """Return the number of axes of an array, an int.

    >>> tf.experimental.numpy.ndim([[1, 2, 3]])
    2
    """
    return policy.array(a).ndim


@public
def size(x, axis=None):
    """Return the number of elements of an array, an int. NotImplementedError for an `axis`.

    >>> tf.experimental.numpy.size([[1, 2, 3]])
    3
    """
    if axis is not None:
        raise NotImplementedError("axis argument is not supported in the current `np.size` implementation")
    x = as_array(x)
    return x.shape.num_elements() if x.shape.is_fully_defined() else extents.size(x)


@public
def isscalar(num):
    """Return whether a value has no axes.

    >>> tf.experimental.numpy.isscalar(tf.constant(1.0))
    True
    """
    return ndim(num) == 0


@public
def reshape(a, newshape, order="C"):
    """Return the elements in another shape, read and written by rows ("C") or by columns ("F"). One extent may be -1.

    >>> tf.experimental.numpy.reshape([1, 2, 3, 4], (2, 2), order="F").numpy()
    array([[1, 3],
           [2, 4]])
    """
    if order not in ("C", "F"):
        raise ValueError(f"Unsupported order argument {order}")
    x = as_array(a)
    extents = [newshape] if isinstance(newshape, (int, np.integer)) else newshape
    if order == "C":
        return _shape.reshape(x, extents)
    return _shape.transpose(_shape.reshape(_shape.transpose(x), extents[::-1]))


@numpy_function
def ravel(a, *, policy=TENSORFLOW):
    """Flatten an array to one axis.

    >>> tf.experimental.numpy.ravel([[1, 2], [3, 4]]).numpy()
    array([1, 2, 3, 4])
    """
    return _shape.reshape(policy.array(a), [-1])


@public
def flatten(a, order="C"):
    """Flatten an array to one axis, by rows ("C", "A", "K") or by columns ("F").

    >>> tf.experimental.numpy.flatten([[1, 2], [3, 4]], "F").numpy()
    array([1, 3, 2, 4])
    """
    if order not in ("C", "A", "K", "F"):
        raise ValueError("order can only be C, A, K (all row major) or F (column major).")
    return ravel(_shape.transpose(as_array(a)) if order == "F" else a)


@numpy_function
def expand_dims(a, axis, *, policy=TENSORFLOW):
    """Return an array with one or several more axes of length 1.

    >>> tf.experimental.numpy.expand_dims([1, 2], 0).numpy()
    array([[1, 2]])
    """
    x = policy.array(a)
    if not isinstance(axis, (list, tuple)):
        return _shape.expand_dims(x, policy.axis(axis, x.ndim + 1))
    axes, extents = policy.axes(axis, x.ndim + len(axis)), iter(extents_of(x))
    return _shape.reshape(x, [1 if place in axes else next(extents) for place in range(x.ndim + len(axes))])


@public
def squeeze(a, axis=None):
    """Return an array without its axes of length 1, or without those in `axis`.

    >>> tf.experimental.numpy.squeeze([[[1, 2]]]).numpy()
    array([1, 2])
    """
    return _shape.squeeze(as_array(a), axis)


def _at_least(count, arrays, padded, policy):
    found = [x if x.ndim >= count else _shape.reshape(x, padded(list(extents_of(x)))) for x in map(policy.array, arrays)]
    return found[0] if len(found) == 1 else found


@numpy_function
def atleast_1d(*arys, policy=TENSORFLOW):
    """Return arrays with at least one axis: one array, or a list of several.

    >>> tf.experimental.numpy.atleast_1d(3).numpy()
    array([3])
    """
    return _at_least(1, arys, lambda extents: [1], policy)


@numpy_function
def atleast_2d(*arys, policy=TENSORFLOW):
    """Return arrays with at least two axes, by adding axes in front: one array, or a list of several.

    >>> tf.experimental.numpy.atleast_2d([1, 2]).numpy()
    array([[1, 2]])
    """
    return _at_least(2, arys, lambda extents: [1] * (2 - len(extents)) + extents, policy)


@numpy_function
def atleast_3d(*arys, policy=TENSORFLOW):
    """Return arrays with at least three axes: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1]. One array, or a list of several.

    >>> tf.experimental.numpy.atleast_3d([1, 2]).shape
    TensorShape([1, 2, 1])
    """
    return _at_least(3, arys, lambda extents: [1, *extents, 1] if len(extents) == 1 else [*extents, 1, 1, 1][:3], policy)


@numpy_function
def transpose(a, axes=None, *, policy=TENSORFLOW):
    """Return an array with its axes in another order, by default reversed.

    >>> tf.experimental.numpy.transpose([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]])
    """
    return _shape.transpose(policy.array(a), axes)


@numpy_function
def swapaxes(a, axis1, axis2, *, policy=TENSORFLOW):
    """Return an array with two axes swapped.

    >>> tf.experimental.numpy.swapaxes([[[1, 2, 3]]], 0, 2).shape
    TensorShape([3, 1, 1])
    """
    x = policy.array(a)
    order = list(range(x.ndim))
    first, second = policy.axis(axis1, x.ndim, "axis1"), policy.axis(axis2, x.ndim, "axis2")
    order[first], order[second] = second, first
    return x if first == second else _shape.transpose(x, order)


@numpy_function
def moveaxis(a, source, destination, *, policy=TENSORFLOW):
    """Move the axes `source` of an array to `destination`, and keep the order of the others. ValueError if their numbers
    differ.

    >>> tf.experimental.numpy.moveaxis([[[1, 2, 3]]], 2, 0).shape
    TensorShape([3, 1, 1])
    """
    x = policy.array(a)
    sources, places = policy.axes(source, x.ndim, "source"), policy.axes(destination, x.ndim, "destination")
    if len(sources) != len(places):
        raise ValueError("The lengths of source and destination must equal")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return x if order == list(range(x.ndim)) else _shape.transpose(x, order)


@numpy_function
def concatenate(arys, axis=0, *, policy=TENSORFLOW):
    """Concatenate arrays along an axis, in their common dtype. ValueError for an empty list.

    >>> tf.experimental.numpy.concatenate([[1, 2], [0.5]]).numpy()
    array([1. , 2. , 0.5])
    """
    arrays = arys if isinstance(arys, (list, tuple)) else [arys]
    if not arrays:
        raise ValueError(f"Need at least one array to concatenate. Received empty input: arys={arys}")
    arrays = policy.promoted(*[_plain(x, policy) for x in arrays])
    return joining.concat(arrays if axis is not None else [ravel(x) for x in arrays], axis or 0)


def _plain(value, policy):
    """Convert a list to an array, as a list of arrays would be taken for a nest."""
    return policy.array(value) if isinstance(value, (list, tuple)) else value


@numpy_function
def append(arr, values, axis=None, *, policy=TENSORFLOW):
    """Append `values` to `arr` along an axis; None flattens both first.

    >>> tf.experimental.numpy.append([[1, 2]], [3]).numpy()
    array([1, 2, 3])
    """
    if axis is None:
        arr, values = ravel(arr, policy=policy), ravel(values, policy=policy)
    return concatenate([arr, values], axis or 0, policy=policy)


@numpy_function
def stack(arrays, axis=0, *, policy=TENSORFLOW):
    """Stack arrays of one shape along a new axis, in their common dtype.

    >>> tf.experimental.numpy.stack([[1, 2], [3, 4]], axis=1).numpy()
    array([[1, 3],
           [2, 4]])
    """
    if is_tensor(arrays):
        return moveaxis(arrays, 0, axis)
    return joining.stack(policy.promoted(*[_plain(x, policy) for x in arrays]), axis)


@numpy_function
def hstack(tup, *, policy=TENSORFLOW):
    """Concatenate arrays along the second axis, vectors along their only one.

    >>> tf.experimental.numpy.hstack([[1, 2], [3]]).numpy()
    array([1, 2, 3])
    """
    arrays = [atleast_1d(x, policy=policy) for x in tup]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, policy=policy)


@numpy_function
def vstack(tup, *, policy=TENSORFLOW):
    """Concatenate arrays along the first axis, vectors as rows.

    >>> tf.experimental.numpy.vstack([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [3, 4]])
    """
    return concatenate([atleast_2d(x, policy=policy) for x in tup], 0, policy=policy)


@numpy_function
def dstack(tup, *, policy=TENSORFLOW):
    """Concatenate arrays along the third axis.

    >>> tf.experimental.numpy.dstack([[1, 2], [3, 4]]).numpy()
    array([[[1, 3],
            [2, 4]]])
    """
    return concatenate([atleast_3d(x, policy=policy) for x in tup], 2, policy=policy)


@numpy_function
def split(ary, indices_or_sections, axis=0, *, policy=TENSORFLOW):
    """Split an array along an axis into a list: of n equal parts for an int n, or of parts that end at the given indices.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.split([1, 2, 3, 4], [1, 3])]
    [[1], [2, 3], [4]]
    """
    x = policy.array(ary)
    if isinstance(indices_or_sections, (int, np.integer)):
        return joining.split(x, int(indices_or_sections), axis)
    axis = policy.axis(axis, x.ndim)
    extent = extents_of(x)[axis]
    ends = [0, *[min(max(end + extent if end < 0 else end, 0), extent) for end in map(int, indices_or_sections)], extent]
    sizes = [end - start for start, end in itertools.pairwise(ends)]
    if any(size < 0 for size in sizes):
        raise ValueError(f"Boundaries of a split must not become smaller, received {list(indices_or_sections)}.")
    return joining.split(x, sizes, axis)


def _split_evenly(ary, indices_or_sections, axis, policy):
    x = policy.array(ary)
    if isinstance(indices_or_sections, int) and extents_of(x)[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return split(x, indices_or_sections, axis, policy=policy)


@numpy_function
def vsplit(ary, indices_or_sections, *, policy=TENSORFLOW):
    """Split an array along the first axis into a list, as `split`; ValueError if n parts cannot be equal.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.vsplit([[1, 2], [3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return _split_evenly(ary, indices_or_sections, 0, policy)


@numpy_function
def hsplit(ary, indices_or_sections, *, policy=TENSORFLOW):
    """Split an array along the second axis, a vector along its only one, as `vsplit`.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.hsplit([[1, 2], [3, 4]], 2)]
    [[[1], [3]], [[2], [4]]]
    """
    return _split_evenly(ary, indices_or_sections, 0 if ndim(ary, policy=policy) == 1 else 1, policy)


@numpy_function
def dsplit(ary, indices_or_sections, *, policy=TENSORFLOW):
    """Split an array along the third axis, as `vsplit`.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.dsplit([[[1, 2]]], 2)]
    [[[[1]]], [[[2]]]]
    """
    return _split_evenly(ary, indices_or_sections, 2, policy)


@numpy_function
def array_split(x, indices_or_sections, axis=0, *, policy=TENSORFLOW):
    """Split an array along an axis, as `split`; of n parts the first ones may be longer by 1."""
    x = policy.array(x)
    if not isinstance(indices_or_sections, (int, np.integer)):
        return split(x, indices_or_sections, axis, policy=policy)
    sections = int(indices_or_sections)
    each, longer = divmod(extents_of(x)[axis], sections)
    return joining.split(x, [each + 1] * longer + [each] * (sections - longer), axis)


@numpy_function
def tile(a, reps, *, policy=TENSORFLOW):
    """Repeat an array `reps[i]` times along each axis. For more numbers than axes, axes are added in front.

    >>> tf.experimental.numpy.tile([1, 2], (2, 2)).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    x, times = policy.array(a), list(reps) if np.ndim(reps) else [reps]
    x = _shape.reshape(x, [1] * (len(times) - x.ndim) + list(extents_of(x))) if len(times) > x.ndim else x
    return rearrange.tile(x, [1] * (x.ndim - len(times)) + times)


@numpy_function
def repeat(a, repeats, axis=None, *, policy=TENSORFLOW):
    """Repeat each entry of an array along an axis; None flattens the array first.

    >>> tf.experimental.numpy.repeat([1, 2], [2, 1]).numpy()
    array([1, 1, 2])
    """
    return rearrange.repeat(policy.array(a), repeats, axis)


_MIRRORING = {"reflect": 1, "symmetric": 0}  # subtracted from the extent: the number of entries that can be mirrored at once
_BY_INDEX = ("edge", "wrap", "reflect", "symmetric")


@numpy_function
def pad(array, pad_width, mode, policy=TENSORFLOW, **kwargs):
    """Pad an array with entries before and behind along each axis. `mode` is "constant", "edge", "wrap", "reflect" or
    "symmetric".

    >>> tf.experimental.numpy.pad([1, 2], [[1, 1]], "constant", constant_values=9).numpy()
    array([9, 1, 2, 9])
    """
    x, filling = policy.array(array), kwargs.get("constant_values", 0)
    if mode not in ("constant", *_BY_INDEX):
        raise ValueError(f"Unsupported padding mode. Received: mode={mode}. Expected one of {('constant', *_BY_INDEX)}.")
    widths = pad_width if is_tensor(pad_width) else np.broadcast_to(np.asarray(pad_width, np.int32), [x.ndim, 2])
    if mode == "constant":
        return rearrange.pad(x, widths, "CONSTANT", policy.array(filling, x.dtype))
    if mode in _MIRRORING and (
        is_tensor(widths)
        or all(max(pair) <= extent - _MIRRORING[mode] for pair, extent in zip(widths, extents_of(x), strict=True))
    ):
        return rearrange.pad(x, widths, mode.upper())
    for axis, pair in enumerate(np.asarray(widths)):
        if any(pair):
            x = gather(x, np.pad(np.arange(extents_of(x)[axis], dtype=np.int32), pair, mode=mode), axis=axis)
    return x


@numpy_function
def flip(m, axis=None, *, policy=TENSORFLOW):
    """Reverse the order along an axis, by default along all axes.

    >>> tf.experimental.numpy.flip([[1, 2], [3, 4]], 1).numpy()
    array([[2, 1],
           [4, 3]])
    """
    x = policy.array(m)
    return rearrange.reverse(x, policy.axes(axis, x.ndim))


@numpy_function
def flipud(m, *, policy=TENSORFLOW):
    """Reverse the order of the rows of an array.

    >>> tf.experimental.numpy.flipud([[1, 2], [3, 4]]).numpy()
    array([[3, 4],
           [1, 2]])
    """
    return flip(m, 0, policy=policy)


@numpy_function
def fliplr(m, *, policy=TENSORFLOW):
    """Reverse the order of the columns of an array.

    >>> tf.experimental.numpy.fliplr([[1, 2], [3, 4]]).numpy()
    array([[2, 1],
           [4, 3]])
    """
    return flip(m, 1, policy=policy)


@numpy_function
def roll(a, shift, axis=None, *, policy=TENSORFLOW):
    """Shift an array cyclically along an axis; None shifts the flattened array, and restores the shape.

    >>> tf.experimental.numpy.roll([1, 2, 3], 1).numpy()
    array([3, 1, 2])
    """
    x = policy.array(a)
    return (
        rearrange.roll(x, shift, axis) if axis is not None else _shape.reshape(rearrange.roll(ravel(x), shift, 0), extents_of(x))
    )


@numpy_function
def rot90(m, k=1, axes=(0, 1), *, policy=TENSORFLOW):
    """Rotate an array by `k` · 90° in the plane of two axes, from the first towards the second.

    >>> tf.experimental.numpy.rot90([[1, 2], [3, 4]]).numpy()
    array([[2, 4],
           [1, 3]])
    """
    x = policy.array(m)
    if x.ndim < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.ndim={x.ndim}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    first, second = policy.axes(axes, x.ndim)
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return rearrange.reverse(x, [first, second])
    return swapaxes(flip(x, second), first, second) if k % 4 == 1 else flip(swapaxes(x, first, second), second)
