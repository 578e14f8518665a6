"""Indexing, gathering, reversing and moving of elements of RaggedTensors; running sums and counts along their axes."""

import math
import operator

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.programs.guards import refusal
from gradtape._src.core.tensors.convert import is_tensor, static, static_list, tensor
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array import extents, gather as gathering, joining, points, rearrange, shape as shapes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.ragged import RaggedTensor, taken, with_splits
from gradtape._src.ops.array.ragged_rows import rowids, splits_of
from gradtape._src.ops.dispatch import version
from gradtape._src.ops.image import resize as resizing
from gradtape._src.ops.math import counting, cumulative
from gradtape._src.ops.nn import softmax as softmaxes
from gradtape._src.ops.ragged.conversions import coordinates, ragged_of
from gradtape._src.ops.shapes import bounded_axis

# ---------------------------------------------------------------------------------------------------------------------
# Indexing


@public
def _getitem(self, key):
    """Return a row, or the rows selected by a key; ragged axes take slices only."""
    keys = list(key) if isinstance(key, (tuple, list)) else [key]
    if any(k is Ellipsis for k in keys):
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        named = sum(k is not None and k is not Ellipsis for k in keys)
        keys[at : at + 1] = [slice(None)] * (self.shape.rank - named)
    if not keys:
        return self
    first, *rest = keys
    if first is None:
        return shapes.expand_dims(self[tuple(rest)] if rest else self, 0)
    if not isinstance(first, slice):
        bounds = self._bounds()
        row = _index(first)
        if not -len(bounds) <= row < len(bounds):
            raise IndexError(f"Row key {row} out of bounds")
        start, end = bounds[row]
        found = self.values[start:end]
        return found[tuple(rest)] if rest else found
    rows = self
    if first != slice(None):
        rows = taken(self, np.arange(len(self._splits) - 1)[_bare(first)])
    return _inner(rows, rest) if rest else rows


def _inner(rows, keys):
    """Apply the keys to each row."""
    first, *rest = keys
    if first is None:
        whole = _inner(rows, rest) if rest else rows
        return shapes.expand_dims(whole, 1)
    if not isinstance(first, slice):
        if rows.uniform_row_length is None:
            raise ValueError("Cannot index into an inner ragged dimension.")
        place = _index(first)
        width = rows._uniform
        if not -width <= place < width:
            raise IndexError(f"Row key {place} out of bounds")
        found = taken(rows.values, rows._splits[:-1] + place % width)
        return found[(slice(None), *rest)] if rest else found
    if first != slice(None):
        starts, lengths = rows._splits[:-1], np.diff(rows._splits)
        chosen = [range(*_bare(first).indices(length)) for length in lengths.tolist()]
        found = np.array([start + i for start, row in zip(starts.tolist(), chosen, strict=True) for i in row], np.int64)
        rows = with_splits(taken(rows.values, found), [splits_of([len(row) for row in chosen], rows._splits.dtype)])
    return rows.with_values(rows.values[(slice(None), *rest)]) if rest else rows


def _index(key):
    return static(key, "index") if is_tensor(key) else operator.index(key)


def _bare(key):
    """Convert the bounds of a slice to Python's integers."""
    return slice(*[None if bound is None else _index(bound) for bound in (key.start, key.stop, key.step)])


attach(RaggedTensor, __getitem__=_getitem)


# ---------------------------------------------------------------------------------------------------------------------
# Taking rows


def _checked(indices, count):
    """Return `indices`, an array; InvalidArgumentError unless all are in [0, count)."""
    if message := refusal(gathering.outside(indices, count)):
        raise invalid_for("RaggedGather", message)
    return indices


@version(RaggedTensor, gathering.gather)
def _gather(params, indices, validate_indices=None, axis=None, batch_dims=0):
    axis = batch_dims if axis is None else int(axis)
    params, indices = [x if isinstance(x, RaggedTensor) else tensor(x) for x in (params, indices)]
    if batch_dims < 0:
        batch_dims += indices.shape.rank
    axis = bounded_axis(axis, params.shape.rank)
    if axis < batch_dims:
        raise ValueError(f"axis ({axis}) must be at least batch_dims ({batch_dims}).")
    return _along(params, indices, axis, batch_dims)


def _along(params, indices, axis, batch_dims):
    """Return `gather` of tensors or RaggedTensors.

    An inner axis is the first axis of the values. So only rows of `params` are taken, at indices counted from the first row.
    """
    if not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
        return gathering.gather(params, indices, axis=axis, batch_dims=batch_dims)
    if axis == 0:
        if isinstance(indices, RaggedTensor):
            return indices.with_flat_values(_along(params, indices.flat_values, 0, 0))
        wanted = to_numpy(indices.node)
        return _shaped(taken(params, _checked(wanted.ravel(), len(params._splits) - 1)), wanted.shape)
    params = params if isinstance(params, RaggedTensor) else ragged_of(params, 1)
    rows = len(params._splits) - 1
    if batch_dims == 0:
        if axis > 1:
            return params.with_values(_along(params.values, indices, axis - 1, 0))
        indices = _along(shapes.expand_dims(indices, 0), tensor(np.zeros(rows, np.int64)), 0, 0)
    elif batch_dims > 1:
        indices = indices if isinstance(indices, RaggedTensor) else ragged_of(indices, 1)
        if not np.array_equal(indices._splits, params._splits):
            raise ValueError("batch shape from indices does not match params shape: their rows have other lengths.")
        return indices.with_values(_along(params.values, indices.values, axis - 1, batch_dims - 1))
    elif axis > 1:
        return params.with_values(_along(params.values, _along(indices, tensor(rowids(params._splits)), 0, 0), axis - 1, 1))
    return _along(params.values, _counted_from_the_first(params._splits, indices), 0, 0)


def _counted_from_the_first(splits, indices):
    """Add the start of each row to the indices into it, which the first axis of `indices` lists; check them."""
    nested = isinstance(indices, RaggedTensor)
    count = len(indices._splits) - 1 if nested else int(indices.shape[0])
    if count != len(splits) - 1:
        raise ValueError(f"batch shape from indices does not match params shape: {count} and {len(splits) - 1} rows.")
    rows = np.arange(count)
    for inner in indices._nested if nested else []:
        rows = rows[rowids(inner)]
    wanted = to_numpy((indices.flat_values if nested else indices).node)
    outer, starts, lengths = wanted.reshape(len(rows), math.prod(wanted.shape[1:])), splits[:-1][rows], np.diff(splits)[rows]
    if (wrong := (outer < 0) | (outer >= lengths[:, None])).any():
        at = tuple(np.argwhere(wrong)[0])
        raise invalid(f"indices = {outer[at]} is not in [0, {lengths[at[0]]}) [Op:RaggedGather]")
    found = tensor((starts[:, None] + outer).reshape(wanted.shape))
    return indices.with_flat_values(found) if nested else found


def _shaped(rows, leading):
    """Give rows, one for each index, the axes of the indices."""
    if not isinstance(rows, RaggedTensor):
        return shapes.reshape(rows, [*leading, *rows.shape[1:]])
    if not leading:
        return rows[0]
    for axis in reversed(range(1, len(leading))):
        rows = with_splits(rows, [np.arange(math.prod(leading[:axis]) + 1) * leading[axis]])
    return rows


@version(RaggedTensor, points.gather_nd)
def _gather_nd(params, indices, batch_dims=0, bad_indices_policy=""):
    if batch_dims:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet: gather_nd takes a RaggedTensor without it.")
    if bad_indices_policy not in ("", "DEFAULT"):
        raise ValueError(f"bad_indices_policy={bad_indices_policy!r} is not supported for ragged gather: leave it out.")
    if isinstance(indices, RaggedTensor):
        if len(indices.flat_values.shape) < 2:
            raise ValueError("The innermost dimension of indices may not be ragged: it is the index of one element.")
        return indices.with_flat_values(points.gather_nd(params, indices.flat_values))
    wanted = to_numpy(tensor(indices).node)
    *leading, depth = wanted.shape
    if not depth:
        return _along(shapes.expand_dims(params, 0), tensor(np.zeros(leading, np.int64)), 0, 0)
    wanted = wanted.reshape(math.prod(leading), depth)
    at, rows = _checked(wanted[:, 0], len(params._splits) - 1), params
    for axis in range(1, depth):
        if not isinstance(rows, RaggedTensor):
            found = points.gather_nd(rows, np.concatenate([at[:, None], wanted[:, axis:]], 1))
            return _shaped(found, leading)
        lengths = np.diff(rows._splits)[at]
        if ((wanted[:, axis] < 0) | (wanted[:, axis] >= lengths)).any():
            raise invalid(f"indices {wanted.tolist()} do not index into rows of the lengths {lengths.tolist()}.")
        at, rows = rows._splits[:-1][at] + wanted[:, axis], rows.values
    return _shaped(taken(rows, at), leading)


# ---------------------------------------------------------------------------------------------------------------------
# Axes


@version(RaggedTensor, shapes.expand_dims)
def _expand_dims(input, axis):
    axis = bounded_axis(static(axis, "axis"), input.shape.rank + 1)
    if axis > 1:
        return input.with_values(shapes.expand_dims(input.values, axis - 1))
    rows = input._splits
    if axis == 0:
        return RaggedTensor.from_uniform_row_length(input, len(rows) - 1, 1)
    return RaggedTensor.from_uniform_row_length(input, 1, len(rows) - 1)


@version(RaggedTensor, shapes.squeeze)
def _squeeze(input, axis=None):
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    axes = sorted({bounded_axis(a, input.shape.rank) for a in static_list(axis, "axis")}, reverse=True)
    for place in axes:
        input = _squeezed(input, place) if isinstance(input, RaggedTensor) else shapes.squeeze(input, place)
    return input


def _squeezed(x, axis):
    if axis > 1:
        nested = isinstance(x.values, RaggedTensor)
        return x.with_values(_squeezed(x.values, axis - 1) if nested else shapes.squeeze(x.values, axis - 1))
    lengths = np.array([len(x._splits) - 1]) if axis == 0 else np.diff(x._splits)
    if (lengths != 1).any():
        raise invalid(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {lengths.tolist()}.")
    return x.values


@version(RaggedTensor, extents.rank)
def _rank(input):
    return shapes.host_constant(np.array(input.shape.rank, np.int32))


@version(RaggedTensor, extents.size)
def _size(input, out_type=dtypes.int32):
    return cast(extents.size(input.flat_values), out_type or dtypes.int32)


@version(RaggedTensor, shapes.reshape)
def _reshape(tensor, shape):
    return shapes.reshape(tensor.flat_values, shape)


@version(RaggedTensor, rearrange.reverse)
def _reverse(tensor, axis):
    for place in static_list(axis, "axis"):
        at = bounded_axis(place, tensor.shape.rank)
        tensor = tensor[(*[slice(None)] * at, slice(None, None, -1))]
    return tensor


# ---------------------------------------------------------------------------------------------------------------------
# Through dense tensors


def _through_dense(x, function, filling=None):
    """Call a function of dense tensors that keeps their shape, and return its result in the rows of `x`."""
    return x.with_flat_values(points.gather_nd(function(x.to_tensor(filling)), coordinates_of_rows(x)))


def coordinates_of_rows(x):
    """Return the index into the dense tensor of each row of innermost values, without the axes of these."""
    found, _ = coordinates(x.with_flat_values(shapes.reshape(x.flat_values, [int(x.flat_values.shape[0]), -1])[:, 0]))
    return found


@version(RaggedTensor, cumulative.cumsum)
def _cumsum(x, axis=0, exclusive=False, reverse=False):
    at = bounded_axis(static(axis, "axis"), x.shape.rank)
    return _through_dense(x, lambda dense: cumulative.cumsum(dense, at, exclusive, reverse))


@version(RaggedTensor, resizing.resize)
def _resize(images, size, *args, **kwargs):
    if images.shape.rank != 4:
        raise ValueError(f"tf.image.resize: images.shape.rank must be 4 if images is ragged, received {images.shape}.")
    each = [images[i] for i in range(len(images._splits) - 1)]
    dense = [image.to_tensor() if isinstance(image, RaggedTensor) else image for image in each]
    if not dense:
        return shapes.zeros([0, *static_list(size, "size"), images.shape[-1]])
    return joining.stack([resizing.resize(image, size, *args, **kwargs) for image in dense])


@version(RaggedTensor, softmaxes.softmax)
def _softmax(logits, axis=None):
    at = bounded_axis(-1 if axis is None else axis, logits.shape.rank)
    return _through_dense(logits, lambda dense: softmaxes.softmax(dense, at), -np.inf)


@version(RaggedTensor, counting.bincount)
def _bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, axis=None, binary_output=False):
    of_values = weights.flat_values if isinstance(weights, RaggedTensor) else weights
    if axis != -1:
        return counting.bincount(arr.flat_values, of_values, minlength, maxlength, dtype, axis=axis, binary_output=binary_output)
    if arr.shape.rank != 2:
        raise ValueError(f"With axis=-1 the rows of a matrix are counted; got {arr.shape.rank} axes.")
    values = to_numpy(arr.flat_values.node)
    width = max(int(values.max(initial=-1)) + 1, 0 if minlength is None else int(minlength))
    dense = arr.to_tensor(width)  # pads rows with a number that is no value
    of_dense = weights.to_tensor() if isinstance(weights, RaggedTensor) else weights
    counts = counting.bincount(dense, of_dense, width + 1, None, dtype, axis=-1, binary_output=binary_output)
    return counts[:, : width if maxlength is None else min(width, int(maxlength))]
