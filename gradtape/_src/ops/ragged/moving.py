"""Indexing, gathering, reversing and moving of elements of RaggedTensors; running sums and counts along their axes."""

import math
import operator

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.hooks import attach
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, static, static_list, tensor
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array import extents, gather as gathering, points, rearrange, shape as shapes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.ragged import RaggedTensor, merged_axes, taken, with_splits
from gradtape._src.ops.array.ragged_rows import rowids, splits_of
from gradtape._src.ops.dispatch import version
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
    if gathering.is_outside(indices, extent=count).any():
        raise invalid_for("RaggedGather", gathering.outside(indices, extent=count))
    return indices


@version(RaggedTensor, gathering.gather)
def _gather(params, indices, validate_indices=None, axis=None, batch_dims=0):
    axis = batch_dims if axis is None else int(axis)
    if not isinstance(params, RaggedTensor):
        if batch_dims == 0 and axis == 0:
            return indices.with_flat_values(gathering.gather(params, indices.flat_values))
        params = ragged_of(params, max(batch_dims, axis, 1))
    if batch_dims < 0:
        batch_dims += (indices if isinstance(indices, RaggedTensor) else tensor(indices)).shape.rank
    axis = bounded_axis(axis, params.shape.rank)
    if axis < batch_dims:
        raise ValueError(f"axis ({axis}) must be at least batch_dims ({batch_dims}).")
    if not isinstance(indices, RaggedTensor):
        given = tensor(indices)
        if axis == 0 and given.ndim < 2:
            chosen = _checked(np.atleast_1d(to_numpy(given.node)), len(params._splits) - 1)
            return taken(params, chosen) if given.ndim else params[int(chosen[0])]
        if batch_dims == 0 and axis:
            return _within(params, given, axis)
        rank = max(batch_dims, given.ndim - 1)
        indices = ragged_of(given, rank) if rank else given
    if batch_dims == 0:
        if axis:
            raise NotImplementedError("gather along an inner axis takes a vector of indices; use batch_dims.")
        return indices.with_flat_values(_gather(params, indices.flat_values))
    if batch_dims > 1:
        inner = _gather(params.values, indices.values, axis=axis - 1, batch_dims=batch_dims - 1)
        return indices.with_values(inner)
    if axis > 1:
        raise NotImplementedError("gather of ragged rows takes elements along the axis behind batch_dims.")
    starts, lengths = params._splits[:-1], np.diff(params._splits)
    flat = indices.flat_values
    rows = rowids(indices._splits)
    for splits in indices._nested[1:]:
        rows = rows[rowids(splits)]
    wanted = to_numpy(flat.node)
    outer = wanted.reshape(len(rows), -1)
    if ((outer < 0) | (outer >= lengths[rows][:, None])).any():
        at = tuple(np.argwhere((outer < 0) | (outer >= lengths[rows][:, None]))[0])
        raise invalid(f"indices = {outer[at]} is not in [0, {lengths[rows[at[0]]]}) [Op:RaggedGather]")
    found = (starts[rows][:, None] + outer).reshape(wanted.shape)
    values = taken(params.values, found) if isinstance(params.values, RaggedTensor) else gathering.gather(params.values, found)
    return indices.with_flat_values(values)


def _within(params, indices, axis):
    """Return the elements at a vector of indices along an inner axis."""
    if indices.ndim != 1:
        raise NotImplementedError("gather along an inner axis takes a vector of indices; use batch_dims.")
    if axis > 1:
        if isinstance(params.values, RaggedTensor):
            return params.with_values(_within(params.values, indices, axis - 1))
        return params.with_values(gathering.gather(params.values, indices, axis=axis - 1))
    wanted = to_numpy(indices.node)
    _checked(wanted, int(np.diff(params._splits).min(initial=np.iinfo(np.int64).max)))
    found = (params._splits[:-1, None] + wanted).ravel()
    return with_splits(taken(params.values, found), [np.arange(len(params._splits)) * len(wanted)])


@version(RaggedTensor, points.gather_nd)
def _gather_nd(params, indices, batch_dims=0, bad_indices_policy=""):
    if batch_dims:
        raise NotImplementedError("gather_nd of a RaggedTensor has no batch_dims.")
    if not isinstance(params, RaggedTensor):
        return indices.with_flat_values(points.gather_nd(params, indices.flat_values))
    if isinstance(indices, RaggedTensor):
        return indices.with_flat_values(_gather_nd(params, indices.flat_values))
    wanted = to_numpy(tensor(indices).node)
    leading, depth = wanted.shape[:-1], wanted.shape[-1]
    wanted = wanted.reshape(-1, depth)
    at, rows = _checked(wanted[:, 0], len(params._splits) - 1), params
    for axis in range(1, depth):
        if not isinstance(rows, RaggedTensor):
            found = points.gather_nd(rows, np.concatenate([at[:, None], wanted[:, axis:]], 1))
            return shapes.reshape(found, [*leading, *found.shape[1:]])
        lengths = np.diff(rows._splits)[at]
        if ((wanted[:, axis] < 0) | (wanted[:, axis] >= lengths)).any():
            raise invalid(f"indices {wanted.tolist()} do not index into rows of the lengths {lengths.tolist()}.")
        at, rows = rows._splits[:-1][at] + wanted[:, axis], rows.values
    found = taken(rows, at)
    if isinstance(found, RaggedTensor):
        if len(leading) > 1:
            return with_splits(found, [np.arange(math.prod(leading[:-1]) + 1) * leading[-1]])
        return found
    return shapes.reshape(found, [*leading, *found.shape[1:]])


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
    if not isinstance(tensor, RaggedTensor) or list(static_list(shape, "shape")) != [-1]:
        raise invalid(f"A RaggedTensor is reshaped to [-1] only; got {shape}. Take to_tensor().")
    return merged_axes(tensor.flat_values, 0, tensor.flat_values.shape.rank - 1)


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
