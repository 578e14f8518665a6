"""Arrays of other shapes: axes moved, arrays joined, split, repeated and turned."""

import itertools

import numpy as np

from gradtape._src.core.convert import is_tensor
from gradtape._src.core.errors import public
from gradtape._src.ops.array import extents, joining, rearrange, shape as _shape
from gradtape._src.ops.numpy.arrays import as_array, promoted
from gradtape._src.ops.shapes import axis_of


@public
def shape(a):
    """Return the shape of an array, a `tf.TensorShape`.

    >>> tf.experimental.numpy.shape([[1, 2, 3]])
    TensorShape([1, 3])
    """
    return as_array(a).shape


@public
def ndim(a):
    """Return the number of axes of an array, an int.

    >>> tf.experimental.numpy.ndim([[1, 2, 3]])
    2
    """
    return as_array(a).ndim


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


@public
def ravel(a):
    """Return the elements of an array in one axis.

    >>> tf.experimental.numpy.ravel([[1, 2], [3, 4]]).numpy()
    array([1, 2, 3, 4])
    """
    return _shape.reshape(as_array(a), [-1])


@public
def flatten(a, order="C"):
    """Return the elements of an array in one axis, by rows ("C", "A", "K") or by columns ("F").

    >>> tf.experimental.numpy.flatten([[1, 2], [3, 4]], "F").numpy()
    array([1, 3, 2, 4])
    """
    if order not in ("C", "A", "K", "F"):
        raise ValueError("order can only be C, A, K (all row major) or F (column major).")
    return ravel(_shape.transpose(as_array(a)) if order == "F" else a)


@public
def expand_dims(a, axis):
    """Return an array with a further axis of length 1.

    >>> tf.experimental.numpy.expand_dims([1, 2], 0).numpy()
    array([[1, 2]])
    """
    return _shape.expand_dims(as_array(a), axis)


@public
def squeeze(a, axis=None):
    """Return an array without its axes of length 1, or without those named.

    >>> tf.experimental.numpy.squeeze([[[1, 2]]]).numpy()
    array([1, 2])
    """
    return _shape.squeeze(as_array(a), axis)


def _at_least(count, arrays, padded):
    found = [x if x.ndim >= count else _shape.reshape(x, padded(list(x.shape))) for x in map(as_array, arrays)]
    return found[0] if len(found) == 1 else found


@public
def atleast_1d(*arys):
    """Return arrays with at least one axis: one array, or a list of several.

    >>> tf.experimental.numpy.atleast_1d(3).numpy()
    array([3])
    """
    return _at_least(1, arys, lambda extents: [1])


@public
def atleast_2d(*arys):
    """Return arrays with at least two axes, further ones in front: one array, or a list of several.

    >>> tf.experimental.numpy.atleast_2d([1, 2]).numpy()
    array([[1, 2]])
    """
    return _at_least(2, arys, lambda extents: [1] * (2 - len(extents)) + extents)


@public
def atleast_3d(*arys):
    """Return arrays with at least three axes: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1]. One array, or a list of several.

    >>> tf.experimental.numpy.atleast_3d([1, 2]).shape
    TensorShape([1, 2, 1])
    """
    return _at_least(3, arys, lambda extents: [1, *extents, 1] if len(extents) == 1 else [*extents, 1, 1, 1][:3])


@public
def transpose(a, axes=None):
    """Return an array with its axes in another order, by default reversed.

    >>> tf.experimental.numpy.transpose([[1, 2], [3, 4]]).numpy()
    array([[1, 3],
           [2, 4]])
    """
    return _shape.transpose(as_array(a), axes)


@public
def swapaxes(a, axis1, axis2):
    """Return an array with two axes exchanged.

    >>> tf.experimental.numpy.swapaxes([[[1, 2, 3]]], 0, 2).shape
    TensorShape([3, 1, 1])
    """
    x = as_array(a)
    order = list(range(x.ndim))
    first, second = axis_of(axis1, x.ndim, "axis1"), axis_of(axis2, x.ndim, "axis2")
    order[first], order[second] = second, first
    return _shape.transpose(x, order)


@public
def moveaxis(a, source, destination):
    """Return an array whose axes `source` stand at `destination`, the others in their order. ValueError if their numbers differ.

    >>> tf.experimental.numpy.moveaxis([[[1, 2, 3]]], 2, 0).shape
    TensorShape([3, 1, 1])
    """
    x = as_array(a)
    sources, places = [[axes] if isinstance(axes, int) else list(axes) for axes in (source, destination)]
    if len(sources) != len(places):
        raise ValueError("The lengths of source and destination must equal")
    sources = [axis_of(axis, x.ndim, "source") for axis in sources]
    places = [axis_of(axis, x.ndim, "destination") for axis in places]
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return _shape.transpose(x, order)


@public
def concatenate(arys, axis=0):
    """Return arrays one after the other along an axis, in their common dtype. ValueError if there is none.

    >>> tf.experimental.numpy.concatenate([[1, 2], [0.5]]).numpy()
    array([1. , 2. , 0.5])
    """
    arrays = arys if isinstance(arys, (list, tuple)) else [arys]
    if not arrays:
        raise ValueError(f"Need at least one array to concatenate. Received empty input: arys={arys}")
    return joining.concat(promoted(*map(_plain, arrays)), axis)


def _plain(value):
    """Return a list as an array, as a list of arrays is a nest."""
    return as_array(value) if isinstance(value, (list, tuple)) else value


@public
def append(arr, values, axis=None):
    """Return `values` behind `arr` along an axis; without one, both flattened.

    >>> tf.experimental.numpy.append([[1, 2]], [3]).numpy()
    array([1, 2, 3])
    """
    return concatenate([ravel(arr), ravel(values)], 0) if axis is None else concatenate([arr, values], axis)


@public
def stack(arrays, axis=0):
    """Return arrays of one shape along a new axis, in their common dtype.

    >>> tf.experimental.numpy.stack([[1, 2], [3, 4]], axis=1).numpy()
    array([[1, 3],
           [2, 4]])
    """
    if is_tensor(arrays):
        return swapaxes(arrays, 0, axis) if axis else as_array(arrays)
    return joining.stack(promoted(*map(_plain, arrays)), axis)


@public
def hstack(tup):
    """Return arrays side by side: along the second axis, vectors along their only one.

    >>> tf.experimental.numpy.hstack([[1, 2], [3]]).numpy()
    array([1, 2, 3])
    """
    arrays = [atleast_1d(x) for x in tup]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


@public
def vstack(tup):
    """Return arrays on top of each other: along the first axis, vectors as rows.

    >>> tf.experimental.numpy.vstack([[1, 2], [3, 4]]).numpy()
    array([[1, 2],
           [3, 4]])
    """
    return concatenate([atleast_2d(x) for x in tup], 0)


@public
def dstack(tup):
    """Return arrays behind each other: along the third axis.

    >>> tf.experimental.numpy.dstack([[1, 2], [3, 4]]).numpy()
    array([[[1, 3],
            [2, 4]]])
    """
    return concatenate([atleast_3d(x) for x in tup], 2)


@public
def split(ary, indices_or_sections, axis=0):
    """Return the parts of an array along an axis, a list: a number of equal ones, or those that end at the given indices.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.split([1, 2, 3, 4], [1, 3])]
    [[1], [2, 3], [4]]
    """
    x = as_array(ary)
    if isinstance(indices_or_sections, int):
        return joining.split(x, indices_or_sections, axis)
    if axis >= x.ndim:
        raise ValueError(f"axis {axis} is out of bound for shape {x.shape}")
    ends = [0, *[min(int(end), x.shape[axis]) for end in indices_or_sections], x.shape[axis]]
    sizes = [end - start for start, end in itertools.pairwise(ends)]
    if min(sizes) < 0:
        raise ValueError(f"Boundaries of a split must not become smaller, received {list(indices_or_sections)}.")
    return joining.split(x, sizes, axis)


def _split_evenly(ary, indices_or_sections, axis):
    x = as_array(ary)
    if isinstance(indices_or_sections, int) and x.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return split(x, indices_or_sections, axis)


@public
def vsplit(ary, indices_or_sections):
    """Return the parts of an array along the first axis, a list; ValueError if a number of them would not be equal.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.vsplit([[1, 2], [3, 4]], 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return _split_evenly(ary, indices_or_sections, 0)


@public
def hsplit(ary, indices_or_sections):
    """Return the parts of an array along the second axis, of a vector along its only one; as `vsplit`.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.hsplit([[1, 2], [3, 4]], 2)]
    [[[1], [3]], [[2], [4]]]
    """
    return _split_evenly(ary, indices_or_sections, 0 if ndim(ary) == 1 else 1)


@public
def dsplit(ary, indices_or_sections):
    """Return the parts of an array along the third axis, a list; as `vsplit`.

    >>> [x.numpy().tolist() for x in tf.experimental.numpy.dsplit([[[1, 2]]], 2)]
    [[[[1]]], [[[2]]]]
    """
    return _split_evenly(ary, indices_or_sections, 2)


@public
def tile(a, reps):
    """Return an array repeated so many times along each axis; axes are added in front where there are more numbers than axes.

    >>> tf.experimental.numpy.tile([1, 2], (2, 2)).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    x, times = as_array(a), np.ravel(np.asarray(reps, np.int32)).tolist()
    x = _shape.reshape(x, [1] * (len(times) - x.ndim) + list(x.shape))
    return rearrange.tile(x, [1] * (x.ndim - len(times)) + times)


@public
def repeat(a, repeats, axis=None):
    """Return an array with each entry along an axis repeated; without an axis, each element of the flattened array.

    >>> tf.experimental.numpy.repeat([1, 2], [2, 1]).numpy()
    array([1, 1, 2])
    """
    return rearrange.repeat(as_array(a), repeats, axis)


@public
def pad(array, pad_width, mode, **kwargs):
    """Return an array with entries added before and behind each axis. `mode` is "constant", "reflect" or "symmetric".

    >>> tf.experimental.numpy.pad([1, 2], [[1, 1]], "constant", constant_values=9).numpy()
    array([9, 1, 2, 9])
    """
    if mode not in ("constant", "reflect", "symmetric"):
        raise ValueError(f"Unsupported padding mode: {mode}")
    widths = np.broadcast_to(np.asarray(pad_width, np.int32), [ndim(array), 2]) if not is_tensor(pad_width) else pad_width
    return rearrange.pad(as_array(array), widths, mode.upper(), kwargs.get("constant_values", 0))


@public
def flip(m, axis=None):
    """Return an array with the order along an axis reversed; along all axes by default.

    >>> tf.experimental.numpy.flip([[1, 2], [3, 4]], 1).numpy()
    array([[2, 1],
           [4, 3]])
    """
    x = as_array(m)
    return rearrange.reverse(x, list(range(x.ndim)) if axis is None else [axis_of(axis, x.ndim)])


@public
def flipud(m):
    """Return an array with the order of its rows reversed.

    >>> tf.experimental.numpy.flipud([[1, 2], [3, 4]]).numpy()
    array([[3, 4],
           [1, 2]])
    """
    return flip(m, 0)


@public
def fliplr(m):
    """Return an array with the order of its columns reversed.

    >>> tf.experimental.numpy.fliplr([[1, 2], [3, 4]]).numpy()
    array([[2, 1],
           [4, 3]])
    """
    return flip(m, 1)


@public
def roll(a, shift, axis=None):
    """Return an array shifted along an axis, what leaves at one end entering at the other; without an axis, flattened for it.

    >>> tf.experimental.numpy.roll([1, 2, 3], 1).numpy()
    array([3, 1, 2])
    """
    x = as_array(a)
    return rearrange.roll(x, shift, axis) if axis is not None else _shape.reshape(rearrange.roll(ravel(x), shift, 0), x.shape)


@public
def rot90(m, k=1, axes=(0, 1)):
    """Return an array turned by `k` quarters in the plane of two axes, from the first to the second.

    >>> tf.experimental.numpy.rot90([[1, 2], [3, 4]]).numpy()
    array([[2, 4],
           [1, 3]])
    """
    x = as_array(m)
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return flip(flip(x, axes[0]), axes[1])
    return swapaxes(flip(x, axes[1]), *axes) if k % 4 == 1 else flip(swapaxes(x, *axes), axes[1])
