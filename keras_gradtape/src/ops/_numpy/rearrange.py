"""Shapes and places: the same elements, turned around, joined, cut, padded."""

import itertools
import math

import numpy as np

import gradtape as tf
from keras_gradtape.src.ops._numpy.promotion import axes_of, canonical, tensor, tensors
from keras_gradtape.src.ops.core import convert_to_tensor

# Shapes


def reshape(x, newshape):
    newshape = (newshape,) if isinstance(newshape, (int, np.integer)) else newshape
    if isinstance(x, tf.SparseTensor):
        return tf.sparse.reshape(x, newshape)
    return tf.reshape(tensor(x), newshape)


def ravel(x):
    return tf.reshape(tensor(x), (-1,))


def broadcast_to(x, shape):
    return tf.broadcast_to(tensor(x), shape)


def expand_dims(x, axis):
    x = tensor(x)
    if not isinstance(axis, (list, tuple)):
        return tf.expand_dims(x, canonical(axis, x.ndim + 1))
    axes = axes_of(axis, x.ndim + len(axis))
    extents = iter(x.shape)
    return tf.reshape(x, [1 if a in axes else next(extents) for a in range(x.ndim + len(axes))])


def squeeze(x, axis=None):
    x = tensor(x)
    if axis is None:
        return tf.squeeze(x)
    axes = axes_of(axis, x.ndim)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError(f"Cannot squeeze axis={a}, because the dimension is not 1. Received: shape={tuple(x.shape)}")
    return tf.squeeze(x, axes) if axes else x


def ndim(x):
    return len(tensor(x).shape)


def size(x):
    return tf.constant(math.prod(tensor(x).shape), tf.int32)


# Axes


def transpose(x, axes=None):
    x = tensor(x)
    if axes is None:
        return tf.transpose(x)
    axes = axes_of(axes, x.ndim)
    if len(set(axes)) != len(axes):
        raise ValueError(
            "`axes` must be a valid permutation of the input dimensions (no duplicates). "
            f"Received: axes={list(axes)} for input of rank {x.ndim}."
        )
    return tf.transpose(x, axes)


def swapaxes(x, axis1, axis2):
    x = tensor(x)
    order = list(range(x.ndim))
    axis1, axis2 = canonical(axis1, len(order)), canonical(axis2, len(order))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return tf.transpose(x, order) if axis1 != axis2 else x


def moveaxis(x, source, destination):
    x = tensor(x)
    rank = x.ndim
    source, destination = axes_of(source, rank), axes_of(destination, rank)
    if len(source) != len(destination):
        raise ValueError(f"`source` and `destination` must have one length. Received: {source} and {destination}.")
    order = [a for a in range(rank) if a not in source]
    for there, here in sorted(zip(destination, source, strict=True)):
        order.insert(there, here)
    return x if order == list(range(rank)) else tf.transpose(x, order)


def flip(x, axis=None):
    x = tensor(x)
    return tf.reverse(x, axes_of(axis, x.ndim))


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def roll(x, shift, axis=None):
    x = tensor(x)
    if axis is not None:
        return tf.roll(x, shift, axis)
    return tf.reshape(tf.roll(ravel(x), shift, 0), x.shape)


def rot90(array, k=1, axes=(0, 1)):
    array = tensor(array)
    if array.ndim < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.ndim={array.ndim}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    first, second = axes_of(axes, array.ndim)
    k = k % 4
    if k == 2:
        return tf.reverse(array, [first, second])
    if k == 1:
        return swapaxes(tf.reverse(array, [second]), first, second)
    return tf.reverse(swapaxes(array, first, second), [second]) if k == 3 else array


# Joining


def concatenate(xs, axis=0):
    xs, _ = tensors(xs)
    if axis is None:
        xs, axis = [ravel(x) for x in xs], 0
    return tf.concat(xs, axis)


def append(x1, x2, axis=None):
    return concatenate((x1, x2), axis)


def stack(x, axis=0):
    xs, _ = tensors(x)
    return tf.stack(xs, axis)


def hstack(xs):
    xs, _ = tensors(xs)
    xs = [_at_least(x, 1) for x in xs]
    return tf.concat(xs, 0 if xs[0].ndim == 1 else 1)


def vstack(xs):
    xs, _ = tensors(xs)
    return tf.concat([_at_least(x, 2) for x in xs], 0)


def dstack(xs):
    xs, _ = tensors(xs)
    return tf.concat([_at_least(x, 3) for x in xs], 2)


def _at_least(x, rank):
    """`x` with new axes up to `rank`, where NumPy's `atleast_*` put them."""
    shape = tuple(x.shape)
    if len(shape) >= rank:
        return x
    shape = (1,) * (min(rank, 2) - len(shape)) + shape
    return tf.reshape(x, shape + (1,) * (rank - len(shape)))


# Cutting


def split(x, indices_or_sections, axis=0):
    x = tensor(x)
    if isinstance(indices_or_sections, (int, np.integer)):
        return tf.split(x, int(indices_or_sections), axis)
    return _cut(x, [int(i) for i in indices_or_sections], axis)


def array_split(x, indices_or_sections, axis=0):
    x = tensor(x)
    if not isinstance(indices_or_sections, (int, np.integer)):
        return split(x, indices_or_sections, axis)
    sections = int(indices_or_sections)
    each, longer = divmod(x.shape[axis], sections)
    sizes = [each + 1] * longer + [each] * (sections - longer)
    return tf.split(x, sizes, axis)


def _cut(x, indices, axis):
    """`x` cut before each of the indices, as NumPy takes them: negative ones count from the end, those beyond it are the end."""
    extent = x.shape[axis]
    bounds = [0, *[min(max(i + extent if i < 0 else i, 0), extent) for i in indices], extent]
    return tf.split(x, [max(end - begin, 0) for begin, end in itertools.pairwise(bounds)], axis)


def hsplit(x, indices_or_sections):
    x = tensor(x)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 2)


# Repeating and padding


def repeat(x, repeats, axis=None):
    return tf.repeat(tensor(x), repeats, axis)


def tile(x, repeats):
    x = tensor(x)
    repeats = tuple(repeats) if np.ndim(repeats) else (repeats,)
    rank = max(x.ndim, len(repeats))
    if rank > x.ndim:
        x = tf.reshape(x, (1,) * (rank - x.ndim) + tuple(x.shape))
    return tf.tile(x, (1,) * (rank - len(repeats)) + repeats)


_MIRRORING = {"reflect": 1, "symmetric": 0}  # how much less than the extent can be mirrored at once
_BY_INDEX = ("edge", "wrap", "reflect", "symmetric")


def pad(x, pad_width, mode="constant", constant_values=None):
    x = tensor(x)
    if constant_values is not None and mode != "constant":
        raise ValueError(f"Argument `constant_values` can only be provided when `mode == 'constant'`. Received: mode={mode}")
    widths = _widths(pad_width, x.ndim)
    if mode == "constant":
        if constant_values is None:
            return tf.pad(x, widths)
        return tf.pad(x, widths, constant_values=convert_to_tensor(constant_values, x.dtype))
    if mode in _MIRRORING and all(max(pair) <= extent - _MIRRORING[mode] for pair, extent in zip(widths, x.shape, strict=True)):
        return tf.pad(x, widths, mode)
    if mode not in _BY_INDEX:
        raise ValueError(f"Unsupported padding mode. Received: mode={mode}. Expected one of {('constant', *_BY_INDEX)}.")
    for axis, pair in enumerate(widths):
        if any(pair):
            x = tf.gather(x, np.pad(np.arange(x.shape[axis], dtype=np.int32), pair, mode=mode), axis=axis)
    return x


def _widths(pad_width, rank):
    """`pad_width` as NumPy takes it, as a pair for each axis."""
    widths = np.broadcast_to(np.asarray(pad_width), (rank, 2))
    return tuple([(int(before), int(after)) for before, after in widths])
