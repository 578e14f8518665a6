"""Bounds, lengths and row numbers of ragged rows, and the conversions between them, in NumPy."""

from itertools import accumulate

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Stored, Tensor, to_numpy


def integers(values):
    """Convert splits, lengths or rows to an int64 vector, or int32 where a tensor or array has that dtype."""
    stated = isinstance(values, (Tensor, Stored, np.ndarray))
    found = to_numpy(tensor(values).node) if stated else np.array(values)
    if not stated and (found.dtype.kind == "i" or not found.size):
        found = found.astype(np.int64)
    if found.ndim != 1 or found.dtype not in (np.int32, np.int64):
        given = f"{found.dtype.name}{list(found.shape)}"
        raise ValueError(f"The rows of a RaggedTensor are stated by an int32 or int64 vector; got {given}.")
    return found


def checked(row_splits, caller):
    """Return `row_splits` as an array; InvalidArgumentError unless they begin with 0 and do not decrease."""
    splits = integers(row_splits)
    wrong = f"Arguments to {caller} do not form a valid RaggedTensor"
    if not splits.size or splits[0] != 0:
        raise invalid(f"{wrong}:zero\nThe first split must be 0: {splits.tolist()}.")
    if np.any(np.diff(splits) < 0):
        raise invalid(f"{wrong}:monotonic.\nRows cannot have negative lengths: {splits.tolist()}.")
    return splits


def splits_of(lengths, dtype=np.int64):
    """Return the splits of rows with the given lengths."""
    return np.concatenate([np.zeros(1, dtype), np.asarray(lengths).cumsum(dtype=dtype)])


def from_rowids(value_rowids, nrows):
    """Return the splits for row numbers; InvalidArgumentError unless these are sorted and below `nrows`."""
    ids = integers(value_rowids)
    count = int(ids[-1]) + 1 if nrows is None and ids.size else int(nrows or 0)
    if ids.size and (ids[0] < 0 or np.any(np.diff(ids) < 0) or ids[-1] >= count):
        raise invalid(
            f"Arguments to from_value_rowids do not form a valid RowPartition: {ids.tolist()} must be sorted, and lie in "
            f"[0, {count})."
        )
    return splits_of(np.bincount(ids, minlength=count), ids.dtype)


def rowids(splits):
    """Return the row number of each value."""
    return np.repeat(np.arange(len(splits) - 1, dtype=splits.dtype), np.diff(splits))


def inside(starts, lengths):
    """Return the indices of all values of rows with the given starts, row by row."""
    lengths = np.asarray(lengths)
    before = lengths.cumsum() - lengths
    return np.arange(int(lengths.sum())) + np.repeat(np.asarray(starts) - before, lengths)


def columns(splits):
    """Return the column of each value in its row."""
    return np.arange(splits[-1], dtype=splits.dtype) - np.repeat(splits[:-1], np.diff(splits))


def places(nested, inner, wanted=None):
    """Return the index into the innermost values for each element of the dense tensor of shape `wanted`; −1 for padding.

    `nested` are the splits of all ragged axes, `inner` the number of values.
    """
    splits, *deeper = nested
    rows, width, *_ = wanted or (None, None)
    starts, lengths = splits[:-1], np.diff(splits)
    rows = len(lengths) if rows is None else rows
    width = int(lengths.max(initial=0)) if width is None else width
    below = places(deeper, inner, [None, *wanted[2:]] if wanted else None) if deeper else np.arange(inner)
    column = np.arange(width)
    there = column < lengths[:rows, None]
    found = np.full((rows, width, *below.shape[1:]), -1, np.int64)
    found[: len(lengths)][there] = below[(starts[:rows, None] + column)[there]]
    return found


def nested_lists(values, ragged_rank, dtype):
    """Flatten nested lists to `(innermost values, splits of each ragged axis)`."""
    nested = []
    for _ in range(ragged_rank):
        nested.append(np.array([0, *accumulate(map(len, values))], dtype))
        values = [item for row in values for item in row]
    return values, nested


def depths(values):
    """Return `(depth of the scalars or None, greatest depth of lists)` of a nest; ValueError if the scalars' depths differ."""
    if not isinstance(values, (list, tuple)):
        return 0, 0
    found = [depths(value) for value in values]
    scalars = {scalar for scalar, _ in found if scalar is not None}
    if len(scalars) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return (scalars.pop() + 1 if scalars else None), 1 + max((deepest for _, deepest in found), default=0)
