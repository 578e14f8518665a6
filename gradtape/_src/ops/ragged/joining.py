"""Concatenation, stacking and repetition of RaggedTensors, and boolean masks and partitions of their rows."""

import itertools

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.ops.array import joining, rearrange, select, shape as shapes
from gradtape._src.ops.array.ragged import RaggedTensor, taken, with_splits
from gradtape._src.ops.array.ragged_rows import rowids, splits_of
from gradtape._src.ops.dispatch import version
from gradtape._src.ops.ragged.conversions import ragged_of
from gradtape._src.ops.shapes import bounded_axis


def _alike(values):
    """Convert tensors of one rank to RaggedTensors of one ragged rank; ValueError if the ranks differ."""
    values = [x if isinstance(x, RaggedTensor) else tensor(x) for x in values]
    ranks = {x.shape.rank for x in values}
    if len(ranks) > 1:
        raise ValueError(f"All tensors must have the same rank; they have {sorted(ranks)}.")
    ragged_rank = max([x.ragged_rank for x in values if isinstance(x, RaggedTensor)])
    return [ragged_of(x, ragged_rank) for x in values]


def _appended(values):
    if not isinstance(values[0], RaggedTensor):
        return joining.concat(values, 0)
    splits = splits_of(np.concatenate([np.diff(x._splits) for x in values]), values[0]._splits.dtype)
    return with_splits(_appended([x.values for x in values]), [splits])


def _interleaved(values):
    """Return the rows of all values interleaved; InvalidArgumentError if the numbers of rows differ."""
    counts = [len(x._splits) - 1 for x in values]
    for i, count in enumerate(counts):
        if count != counts[0]:
            raise invalid(
                f"Input tensors at index 0 (=x) and {i} (=y) have incompatible shapes.\nCondition x == y did not hold.\n"
                f"First 1 elements of x:\n[{counts[0]}]\nFirst 1 elements of y:\n[{count}]"
            )
    places = np.arange(len(values) * counts[0]).reshape(len(values), -1).T.ravel()
    return taken(_appended(values), places)


@version(RaggedTensor, joining.concat)
def _concat(values, axis):
    if isinstance(values, RaggedTensor):
        return values
    values = _alike(values)
    axis = bounded_axis(int(axis), values[0].shape.rank)
    if axis == 0:
        return _appended(values)
    if axis > 1:
        return _deeper(values, lambda inner: joining.concat(inner, axis - 1))
    rows = _interleaved(values)
    return with_splits(rows.values, [rows._splits[:: len(values)]])


def _deeper(values, function):
    """Call `function` on the values of rows, which must be equal, and return its result in these rows."""
    for i, x in enumerate(values):
        if not np.array_equal(x._splits, values[0]._splits):
            raise invalid(
                f"Input tensors at index 0 (=x) and {i} (=y) have incompatible shapes.\nCondition x == y did not hold.\n"
                f"Their rows begin at {values[0]._splits.tolist()} and {x._splits.tolist()}."
            )
    return values[0].with_values(function([x.values for x in values]))


@version(RaggedTensor, joining.stack)
def _stack(values, axis=0):
    if isinstance(values, RaggedTensor):
        return values
    values = _alike(values)
    axis = bounded_axis(axis, values[0].shape.rank + 1)
    if axis == 0:
        return with_splits(_appended(values), [splits_of([len(x._splits) - 1 for x in values])])
    if axis > 1:
        return _deeper(values, lambda inner: joining.stack(inner, axis - 1))
    rows = len(values[0]._splits)
    return with_splits(_interleaved(values), [np.arange(rows) * len(values)])


@public
def stack(values, axis=0, name=None):
    """Stack tensors or RaggedTensors of one rank, of any extents, along a new axis to a RaggedTensor.

    >>> tf.ragged.stack([[1, 2], [3]])
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    values = [x if isinstance(x, RaggedTensor) else tensor(x) for x in values]
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    ranks = {x.shape.rank for x in values}
    if len(ranks) > 1:
        raise ValueError(f"Shapes must have one rank; got {[str(x.shape) for x in values]}.")
    rank = ranks.pop()
    if rank == 0:
        return joining.stack(values)
    if rank == 1:
        if bounded_axis(axis, 2) == 0:
            return with_splits(joining.concat(values, 0), [splits_of([x.shape[0] for x in values])])
        return ragged_of(joining.stack(values, 1), 1)
    ragged_rank = max([1, *[x.ragged_rank for x in values if isinstance(x, RaggedTensor)]])
    return _stack([ragged_of(x, ragged_rank) for x in values], axis)


@version(RaggedTensor, rearrange.tile)
def _tile(input, multiples):
    for axis, count in enumerate(static_list(multiples, "multiples")):
        input = _concat([input] * count, axis) if count else taken_rows_of_axis(input, axis)
    return input


def taken_rows_of_axis(x, axis):
    """Return a RaggedTensor with no elements in its rows along `axis`."""
    if axis == 0:
        return taken(x, np.zeros(0, np.int64))
    if axis > 1:
        return x.with_values(taken_rows_of_axis(x.values, axis - 1))
    return with_splits(taken(x.values, np.zeros(0, np.int64)), [np.zeros_like(x._splits)])


@version(RaggedTensor, joining.split)
def _split(value, num_or_size_splits, axis=0, num=None):
    place, rows, sizes = bounded_axis(axis, value.shape.rank), len(value._splits) - 1, num_or_size_splits
    if place > value.ragged_rank:
        return [value.with_flat_values(x) for x in joining.split(value.flat_values, sizes, place - value.ragged_rank, num)]
    if place:
        raise ValueError(f"Cannot split a ragged dimension. Got `value` with shape {value.shape} and `axis` {axis}.")
    if isinstance(sizes, int):
        if sizes < 1:
            raise ValueError(f"`num_or_size_splits` must be >=1 if it is an `int`. Received {sizes}.")
        if rows % sizes:
            raise invalid(f"Cannot exactly split dimension 0 of length {rows} into {sizes} equal parts.")
        sizes = [rows // sizes] * sizes
    sizes = list(static_list(sizes, "num_or_size_splits"))
    bounds = splits_of(sizes)
    if min(sizes, default=0) < 0 or bounds[-1] != rows:
        raise invalid(f"The sizes {sizes} must not be negative, and sum up to the {rows} rows.")
    return [taken(value, np.arange(start, end)) for start, end in itertools.pairwise(bounds)]


@public
def boolean_mask(data, mask, name=None):
    """Return the elements of `data` at which `mask` is True, row by row.

    Both may be ragged; the mask covers the first axes of `data`. A mask of one axis selects rows.

    >>> tf.ragged.boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, True]])
    <tf.RaggedTensor [[1, 3], [6]]>
    """
    mask = mask if isinstance(mask, RaggedTensor) else tensor(mask)
    rank = mask.shape.rank
    if mask.dtype.name != "bool":
        raise TypeError(f"mask must be a tensor of bools; got {mask.dtype.name}.")
    if rank == 0:
        raise ValueError("mask cannot be scalar.")
    if rank > 1:
        mask = ragged_of(mask, rank - 1)
        data = data if isinstance(data, RaggedTensor) else tensor(data)
        return _masked(ragged_of(data, rank - 1), mask)
    chosen = np.flatnonzero(to_numpy(mask.node))
    data = data if isinstance(data, RaggedTensor) else tensor(data)
    return taken(data, chosen)


def _masked(data, mask):
    if not np.array_equal(data._splits, mask._splits):
        raise invalid(f"data has rows of the lengths {np.diff(data._splits).tolist()}, mask of {np.diff(mask._splits).tolist()}.")
    if isinstance(mask.values, RaggedTensor):
        return data.with_values(_masked(data.values, mask.values))
    there = to_numpy(mask.values.node)
    lengths = np.bincount(rowids(data._splits)[there], minlength=len(data._splits) - 1)
    return with_splits(taken(data.values, np.flatnonzero(there)), [splits_of(lengths, data._splits.dtype)])


@version(RaggedTensor, select.dynamic_partition)
def _dynamic_partition(data, partitions, num_partitions):
    if isinstance(partitions, RaggedTensor):
        for _ in partitions._levels:
            data = data.values
        partitions = partitions.flat_values
    of_rows = to_numpy(tensor(partitions).node)
    return [taken(data, np.flatnonzero(of_rows == i)) for i in range(int(num_partitions))]


@public
def stack_dynamic_partitions(data, partitions, num_partitions, name=None):
    """Group the rows of `data` by their partition number: a RaggedTensor with a row for each partition.

    >>> tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [1, 0, 1], 2).to_list()
    [[b'b'], [b'a', b'c']]
    """
    data = data if isinstance(data, RaggedTensor) else tensor(data)
    if isinstance(partitions, RaggedTensor):
        if not isinstance(data, RaggedTensor):
            data = ragged_of(data, partitions.ragged_rank)
        if not np.array_equal(data._splits, partitions._splits):
            raise invalid("data and partitions have incompatible ragged shapes: their rows have other lengths.")
        return stack_dynamic_partitions(data.values, partitions.values, num_partitions)
    given = tensor(partitions)
    if given.ndim == 0:
        return stack_dynamic_partitions(shapes.expand_dims(data, 0), shapes.expand_dims(given, 0), num_partitions)
    if not given.shape.is_compatible_with(data.shape[: given.ndim]):
        raise ValueError(f"Shapes {given.shape} and {data.shape} are incompatible: each element of data has one partition.")
    if given.ndim > 1:
        return stack_dynamic_partitions(ragged_of(data, 1).values, ragged_of(given, 1).values, num_partitions)
    of_rows, count = to_numpy(given.node), int(num_partitions)
    if of_rows.size and (of_rows.min() < 0 or of_rows.max() >= count):
        raise invalid(f"partitions must lie in [0, {count}); got {of_rows.tolist()}.")
    rows = taken(data, np.argsort(of_rows, kind="stable"))
    return with_splits(rows, [splits_of(np.bincount(of_rows, minlength=count))])
