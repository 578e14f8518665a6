"""Selection by values: `where`, masks, unique values, partitions.

The shapes of masked results and of partitions depend on values. So masks and indices are evaluated at once, while the data that
they select from stays in the pending program.
"""

from math import prod
from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, invalid, invalid_dtype, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import AT_ONCE, gradient, not_differentiable, op, ran
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.guards import refusal
from gradtape._src.core.tensors.convert import operands, static, tensor, tensor as as_tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, emit, extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import unknown
from gradtape._src.ops.array.gather import _gather, outside, scatter_rows
from gradtape._src.ops.array.joining import _concat, _split_v
from gradtape._src.ops.array.shape import _reshape, host_constant, plain
from gradtape._src.ops.shapes import BOOL, INDEX, REAL, blank, bounded_axis, broadcast_shapes, named_dtype, require, spoken

# ---------------------------------------------------------------------------------------------------------------------
# where


def _selected(condition, t, e):
    if condition.dtype is not BOOL:
        raise invalid_dtype(
            "cannot compute SelectV2 as input #0(zero-based) was expected to be a bool tensor but is a "
            f"{spoken(condition.type.name)} tensor: compare it with something, or tf.cast it to tf.bool."
        )
    try:
        shape = broadcast_shapes(condition.shape, broadcast_shapes(t.shape, e.shape))
    except InvalidArgumentError:
        raise invalid(
            f"condition {plain(condition.shape)}, then {plain(t.shape)}, and else {plain(e.shape)} must be "
            f"broadcastable\nExtents must be equal or 1, counted from the last axis."
        ) from None
    return aval(shape, t.dtype)


@op("SelectV2", infer=_selected, broadcasting=True, saves="condition", mixed=True, strings=True, flops=0)
def _select(condition, t, e):
    return jnp.where(condition, t, e)


@gradient(_select)
def _(dy, condition, needs_t, needs_e):  # t and e are not read, so NaN or infinity on the side not taken does no harm
    dt = where(condition, dy, 0) if needs_t else None
    return None, dt, where(condition, 0, dy) if needs_e else None


@op("Where", infer=lambda condition: aval((unknown(), condition.ndim), np.dtype(np.int64)), unhosted=AT_ONCE, flops=0)
def _where(condition):
    return np.argwhere(condition).astype(np.int64)


not_differentiable(_where, because="where(condition) gives integers: places, not values", unregistered=True)


@public
def where(condition, x=None, y=None, name=None) -> Tensor:
    """Return `x` where `condition` is true and `y` elsewhere, all broadcast against each other.

    `where(condition)` alone returns the coordinates of the true (non-zero) elements: int64, shape [count, rank]. Gradients go
    to the side that was taken, zeros to the other.

    >>> tf.where([True, False], [1.0, 2.0], 0.0).numpy()
    array([1., 0.], dtype=float32)
    >>> tf.where([0, 3, 4]).numpy().tolist()
    [[1], [2]]
    """
    if x is None and y is None:
        condition = tensor(condition)
        if not condition.ndim:
            raise invalid_for("Where", "WhereOp : Unhandled input dimensions: 0: a scalar has no coordinates.")
        return ran(_where, condition)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    condition = tensor(condition, None if isinstance(condition, (Tensor, Stored)) else dtypes.bool)
    return emit(_select.op, (condition.node, *operands(_select.op, (x, y), 1)))


# ---------------------------------------------------------------------------------------------------------------------
# Masks


@public
def boolean_mask(tensor, mask, axis=None, name="boolean_mask") -> Tensor:
    """Return the entries of `tensor` at which `mask` (bool) is true. `mask` covers the axes of `tensor` from `axis` (0) on.

    The shape is `tensor.shape[:axis] + [count] + tensor.shape[axis + mask.ndim:]`.

    >>> tf.boolean_mask([1.0, 2.0, 3.0], [True, False, True]).numpy()
    array([1., 3.], dtype=float32)
    """
    x, mask = as_tensor(tensor), as_tensor(mask)
    axis = 0 if axis is None else bounded_axis(static(axis, "axis"), x.ndim)
    if not mask.ndim:
        raise ValueError("mask cannot be scalar. Give a mask with at least one axis, or use tf.where.")
    behind = axis + mask.ndim
    x.node.aval.tensor_shape[axis:behind].assert_is_compatible_with(extents_of(mask))
    shape = x.node.aval.shape
    count = mask.node.aval.size
    flat = _reshape(x, shape=(*shape[:axis], count, *shape[behind:]))
    if engine.graph_around() is None:
        journal.left("mask", mask.node, engine.local.trace)
        chosen = host_constant(np.flatnonzero(to_numpy(mask.node)))
    else:
        chosen = _reshape(ran(_where, _reshape(mask, shape=(count,))), shape=(unknown(),))
    return emit(_gather.op, (flat.node, chosen.node), (axis, 0, count))


# ---------------------------------------------------------------------------------------------------------------------
# Unique values


class Unique(NamedTuple):
    """The distinct values `y`, and for each element of the input its index `idx` into `y`."""

    y: Tensor
    idx: Tensor


class UniqueWithCounts(NamedTuple):
    """The distinct values `y`, the indices `idx` of the input's elements into `y`, and how often each value occurs."""

    y: Tensor
    idx: Tensor
    count: Tensor  # type: ignore[assignment]  # TensorFlow's name


class ListDiff(NamedTuple):
    """The elements of a list that are left, and their indices."""

    out: Tensor
    idx: Tensor


def _by_appearance(x):
    """Return for the distinct values of a vector, in order of appearance, where each is first, and how often it occurs.

    Between the two stands the index of each element among the distinct values.
    """
    _, first, places, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    order = np.argsort(first)
    rank = np.argsort(order)
    return first[order], rank[places.reshape(-1)], counts[order]


def _distinct(x, *, out_idx):
    found = unknown()
    return aval((found,), x.dtype), aval(x.shape, out_idx), aval((found,), out_idx)


@op("Unique", infer=lambda x, *, out_idx: _distinct(x, out_idx=out_idx)[:2], unhosted=AT_ONCE)
def _unique(x, *, out_idx):
    first, places, _ = _by_appearance(x)
    return x[first], places.astype(out_idx)


@op("UniqueWithCounts", infer=_distinct, unhosted=AT_ONCE)
def _unique_with_counts(x, *, out_idx):
    first, places, counts = _by_appearance(x)
    return x[first], places.astype(out_idx), counts.astype(out_idx)


def _distinct_slices(x, *, axis, out_idx):
    count, found = x.shape[axis], unknown()
    axis %= x.ndim
    return aval((*x.shape[:axis], found, *x.shape[axis + 1 :]), x.dtype), aval((count,), out_idx), aval((found,), out_idx)


@op("UniqueWithCountsV2", infer=_distinct_slices, unhosted=AT_ONCE)
def _unique_along(x, *, axis, out_idx):
    """Return the distinct slices along an axis in order of appearance, the index of each slice in them, and counts."""
    slices = np.moveaxis(x, axis, 0)
    flat = np.ascontiguousarray(slices.reshape(len(slices), -1))
    _, ids = np.unique(flat, axis=0, return_inverse=True)
    first, places, counts = _by_appearance(ids.reshape(-1))
    return np.take(x, first, axis), places.astype(out_idx), counts.astype(out_idx)


def _difference(x, y, *, out_idx):
    left = unknown()
    return aval((left,), x.dtype), aval((left,), out_idx)


@op("ListDiff", infer=_difference, unhosted=AT_ONCE)
def _list_diff(x, y, *, out_idx):
    places = np.flatnonzero(~np.isin(x, y))
    return x[places], places.astype(out_idx)


def _vector(x, what):
    x = tensor(x)
    require(x.node.aval, (*REAL, "bool", "string"))
    if x.ndim != 1:
        raise invalid(f"{what} expects a 1D vector, received shape {plain(extents_of(x))}: flatten it with tf.reshape(x, [-1]).")
    return x


def _index_type(out_idx):
    """Convert `out_idx` to NumPy's dtype: int32 (None, too) or int64."""
    return named_dtype(dtypes.int32 if out_idx is None else out_idx, INDEX, "out_idx")


@public
def unique(x, out_idx=dtypes.int32, name=None):
    """Return the distinct values of the vector `x` in order of appearance: `(y, idx)` with `x == y[idx]`. `out_idx`, the dtype
    of idx, is int32 or int64.

    >>> values, index = tf.unique([1, 1, 2, 4, 4])
    >>> values.numpy(), index.numpy()
    (array([1, 2, 4], dtype=int32), array([0, 0, 1, 2, 2], dtype=int32))
    """
    return Unique(*ran(_unique, _vector(x, "unique"), attrs=(_index_type(out_idx),)))


@public
def unique_with_counts(x, out_idx=dtypes.int32, name=None):
    """Return the distinct values like `unique`, with the number of occurrences of each: `(y, idx, count)`.

    >>> values, index, count = tf.unique_with_counts([1, 1, 2, 4, 4])
    >>> count.numpy()
    array([2, 1, 2], dtype=int32)
    """
    return UniqueWithCounts(*ran(_unique_with_counts, _vector(x, "unique"), attrs=(_index_type(out_idx),)))


@public
def unique_slices_with_counts(x, axis, out_idx=dtypes.int32):
    """Return the distinct slices of `x` along `axis`, the index of each slice among them, and their numbers of occurrences."""
    x = tensor(x)
    require(x.node.aval, (*REAL, "bool"))
    return UniqueWithCounts(*ran(_unique_along, x, attrs=(int(axis), _index_type(out_idx))))


@public
def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    """Return the elements of the vector `x` that are not in the vector `y`, and their indices: `(out, idx)`."""
    x = _vector(x, "ListDiff")
    y = _vector(tensor(y, x.dtype), "ListDiff")
    return ListDiff(*ran(_list_diff, x, y, attrs=(_index_type(index_dtype),)))


# ---------------------------------------------------------------------------------------------------------------------
# Partitions


def _partitioned(data, partitions, order, counts):
    row = data.shape[partitions.ndim :]
    return tuple([aval((count, *row), data.dtype) for count in counts])


@op("DynamicPartition", infer=_partitioned, saves="order", mixed=True, strings=True, flops=0)
def _dynamic_partition(data, partitions, order, *, counts):
    rows = data.reshape((partitions.size, *data.shape[partitions.ndim :]))
    return tuple(lax.split(rows[order], counts))


@gradient(_dynamic_partition)
def _(*dy, data, order):
    shape = data.node.aval.shape
    row = dy[0].node.aval.shape[1:]
    whole = scatter_rows(_concat(*dy, axis=0), order, (order.node.aval.size, *row))
    return _reshape(whole, shape=shape), None, None


@public
def dynamic_partition(data, partitions, num_partitions, name=None):
    """Split `data` into a list of `num_partitions` tensors: row i goes to part `partitions[i]`. The shape of `partitions`
    (int32) is a prefix of data's shape, and i an index into it.

    >>> [part.numpy().tolist() for part in tf.dynamic_partition([1.0, 2.0, 3.0], [0, 1, 0], 2)]
    [[1.0, 3.0], [2.0]]
    """
    x, partitions = tensor(data), tensor(partitions, dtypes.int32)
    count = static(num_partitions, "num_partitions")
    if count < 1:
        raise invalid(f"Value for attr 'num_partitions' of {count} must be at least minimum 1.")
    if not partitions.node.aval.tensor_shape.is_compatible_with(extents_of(x)[: partitions.ndim]):
        raise invalid_for(
            "DynamicPartition",
            f"data.shape must start with partitions.shape, got data.shape = {plain(extents_of(x))}, partitions.shape = "
            f"{plain(extents_of(partitions))}: give one partition for each row.",
        )
    numbers = to_numpy(partitions.node)
    if message := refusal(outside(numbers, count, name="partitions")):
        raise invalid_for("DynamicPartition", message)
    order = host_constant(np.argsort(numbers.reshape(-1), kind="stable"))
    counts = tuple(np.bincount(numbers.reshape(-1), minlength=count).tolist())
    return list(emit(_dynamic_partition.op, (x.node, partitions.node, order.node), (counts,)))


def _stitched(source, *data):
    for i, rows in enumerate(data):
        if rows.shape[1:] != data[0].shape[1:]:
            raise invalid(
                f"Need data[0].shape[0:] = data[{i}].shape[0:] behind the axes of indices, got rows of shape "
                f"{plain(data[0].shape[1:])} and {plain(rows.shape[1:])}."
            )
    return aval((*source.shape, *data[0].shape[1:]), data[0].dtype)


@op("DynamicStitch", infer=_stitched, saves="source", mixed=True, strings=True, flops=0)
def _dynamic_stitch(source, *data):
    nothing = jnp.full((1, *data[0].shape[1:]), blank(data[0].dtype), data[0].dtype)  # the row for indices without a source
    return at(lax.concatenate((*data, nothing), 0))[source].get(mode="clip")


@gradient(_dynamic_stitch)
def _(dy, source, data):
    sizes = (*[extents_of(rows)[0] for rows in data], 1)
    whole = scatter_rows(dy, source, (sum(sizes), *dy.node.aval.shape[1:]))
    return [None, *_split_v(whole, size_splits=sizes, axis=0)[:-1]]


@public
def dynamic_stitch(indices, data, name=None) -> Tensor:
    """Return the tensor whose row `indices[i][j]` is `data[i][j]`, the inverse of `dynamic_partition`.

    Of several rows with one index the last one is used, and only it gets a gradient. Rows without an index are 0.
    `indices` are int32.

    >>> tf.dynamic_stitch([[0, 2], [1]], [[1.0, 3.0], [2.0]]).numpy()
    array([1., 2., 3.], dtype=float32)
    """
    indices, data = [tensor(i, dtypes.int32) for i in indices], [tensor(d) for d in data]
    if len(indices) != len(data) or not data:
        raise ValueError(f"indices and data must be lists of one length, received {len(indices)} and {len(data)}.")
    rows = []
    for i, (index, values) in enumerate(zip(indices, data, strict=True)):
        shape = values.node.aval.shape
        if shape[: index.ndim] != index.node.aval.shape:
            raise invalid_for(
                "DynamicStitch",
                f"data[{i}].shape = {plain(shape)} does not start with indices[{i}].shape = {plain(index.shape)}",
            )
        rows.append(_reshape(values, shape=(prod(extents_of(index)), *shape[index.ndim :])))
    places = np.concatenate([to_numpy(index.node).reshape(-1).astype(np.int64) for index in indices])
    if places.size and places.min() < 0:
        raise invalid_for("DynamicStitch", f"indices[{places.min()}] is out of range: an index must not be negative.")
    source = np.full(places.max(initial=-1) + 1, places.size)
    source[places] = np.arange(places.size)
    return emit(_dynamic_stitch.op, (host_constant(source).node, *operands(_dynamic_stitch.op, rows)))
