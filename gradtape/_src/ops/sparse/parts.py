"""Slices, splits, extrema and softmax of SparseTensors, and filling of empty rows.

Indices are evaluated and values gathered, so gradients go to the values.
"""

import math

import numpy as np

from gradtape._src.core.base.errors import invalid_dtype, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import static, static_list, tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat as joined
from gradtape._src.ops.array.shape import broadcast_to, host_constant, reshape
from gradtape._src.ops.math import arithmetic, elementary, segment
from gradtape._src.ops.shapes import axis_of, plain
from gradtape._src.ops.sparse.tensor import SparseTensor, _sparse_to_dense, inside, required, to_dense


def _places(x):
    return to_numpy(x.indices.node)


def _inside(x, type):
    return inside(_places(x), x._extents, type)


def _chosen(x, kept, moved, shape):
    """Return the elements at the positions `kept`, with the indices `moved`. The gradient to the values is dense."""
    return SparseTensor(moved, reshape(gather(reshape(x.values, [1, -1]), kept, axis=1), [-1]), shape)


def _cut(x, start, size):
    places, extents = _places(x), np.array(x._extents)
    shape = np.stack([np.array(size), extents - np.array(start)]).min(0).clip(0)
    kept = np.flatnonzero(((places >= start) & (places < np.array(start) + shape)).all(1))
    return _chosen(x, kept, places[kept] - np.array(start, np.int64), shape.tolist())


@public
def slice(sp_input, start, size, name=None):
    """Return the part of `sp_input` from `start` on with the extents `size`, cut off at the end of `sp_input`.

    >>> part = tf.sparse.slice(tf.sparse.from_dense([[1, 0, 2], [0, 3, 0]]), [0, 1], [2, 2])
    >>> tf.sparse.to_dense(part).numpy().tolist()
    [[0, 2], [3, 0]]
    """
    x, start, size = required(sp_input), static_list(start, "start"), static_list(size, "size")
    for what, given in (("start", start), ("size", size)):
        if len(given) != len(x._extents):
            raise invalid_for(
                "SparseSlice", f"Expected {what} to be a vector of length {len(x._extents)} but got length {len(given)}"
            )
    return _cut(x, start, size)


@public
def split(sp_input=None, num_split=None, axis=None, name=None):
    """Split `sp_input` along `axis` into `num_split` parts; if it does not divide evenly, the first ones are larger by one.

    >>> [part.shape.as_list() for part in tf.sparse.split(tf.sparse.from_dense([[1, 0, 2]]), 2, axis=1)]
    [[1, 2], [1, 1]]
    """
    for given, what in ((num_split, "num_split"), (axis, "axis"), (sp_input, "sp_input")):
        if given is None:
            raise ValueError(f"{what} is required")
    x, count = required(sp_input), static(num_split, "num_split")
    extents = list(x._extents)
    axis = axis_of(static(axis, "axis"), len(extents))
    if not 0 < count <= extents[axis]:
        raise invalid_for("SparseSplit", f"Input num_split should be in [1, {extents[axis]}], received {count}.")
    _inside(x, "SparseSplit")
    parts, begin = [], 0
    for number in range(count):
        width = extents[axis] // count + (number < extents[axis] % count)
        start, size = [0] * len(extents), list(extents)
        start[axis], size[axis] = begin, width
        parts.append(_cut(x, start, size))
        begin += width
    return parts


@public
def reduce_max(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """Return the largest stored element over `axis` (all by default); 0 where none is stored.

    >>> tf.sparse.reduce_max(tf.sparse.from_dense([[-5, 0], [-3, -4], [0, 0]]), axis=1).numpy()
    array([-5, -3,  0], dtype=int32)
    """
    x = required(sp_input)
    rank, places = len(x._extents), _inside(x, "SparseReduceMax")
    named = range(rank) if axis is None else static_list(axis, "axis")
    for given in named:
        if not -rank <= given < rank:
            raise invalid_for("SparseReduceMax", f"Invalid reduction dimension {given}, for input with {rank} dimensions.")
    axes = {given % rank for given in named}
    left = [a for a in range(rank) if a not in axes]
    shape = [x._extents[a] for a in left]
    ids = np.ravel_multi_index(tuple(places[:, left].T), shape) if left else np.zeros(len(places), np.int64)
    groups, into = np.unique(ids, return_inverse=True)
    largest = segment.unsorted_segment_max(x.values, into.reshape(-1), len(groups))
    found = np.stack(np.unravel_index(groups, shape), 1) if left else np.zeros((len(groups), 0), np.int64)
    whole = [1 if a in axes else x._extents[a] for a in range(rank)] if keepdims else shape
    if output_is_sparse:
        if keepdims:
            found = np.stack([found[:, left.index(a)] if a in left else np.zeros(len(groups), np.int64) for a in range(rank)], 1)
        return SparseTensor(found.astype(np.int64), largest, whole)
    if not left:
        return reshape(largest if len(groups) else host_constant(np.zeros(1, x.dtype.numpy)), whole)
    return reshape(to_dense(SparseTensor(found.astype(np.int64), largest, shape)), whole)


def _extremum(function, type):
    def of_both(sp_a, sp_b):
        a, b = required(sp_a, "sp_a"), required(sp_b, "sp_b")
        for what, same in (("ranks", len(a._extents) == len(b._extents)), ("shapes", a._extents == b._extents)):
            if not same:
                shapes = [" ".join(map(str, extents)) for extents in (a._extents, b._extents)]
                raise invalid_for(type, f"Operands do not have the same {what}; got shapes: {shapes[0]} and {shapes[1]}")
        flat = [np.ravel_multi_index(tuple(_inside(x, type).T), tuple(a._extents)) for x in (a, b)]
        union = np.unique(np.concatenate(flat))
        values = [_at(x.values, places, union) for x, places in zip((a, b), flat, strict=True)]
        places = np.stack(np.unravel_index(union, tuple(a._extents)), 1).astype(np.int64)
        return SparseTensor(places, function(*values), a.dense_shape)

    return of_both


def _at(values, places, wanted):
    """Return the values at the `wanted` of all indices, 0 for those that are not stored."""
    padded = joined([values, host_constant(np.zeros(1, values.dtype.numpy))], 0)
    order = np.argsort(places, kind="stable")
    at = np.searchsorted(places[order], wanted)
    there = (at < len(places)) & (places[order][at.clip(max=max(len(places) - 1, 0))] == wanted if len(places) else False)
    return gather(padded, np.where(there, order[at.clip(max=max(len(places) - 1, 0))] if len(places) else 0, len(places)))


_largest = _extremum(arithmetic.maximum, "SparseSparseMaximum")
_smallest = _extremum(arithmetic.minimum, "SparseSparseMinimum")


@public
def maximum(sp_a, sp_b, name=None):
    """Return the element-wise maximum of SparseTensors of one shape; elements that are not stored are 0.

    >>> a, b = tf.sparse.from_dense([1, 0, -2]), tf.sparse.from_dense([0, 0, 3])
    >>> tf.sparse.to_dense(tf.sparse.maximum(a, b)).numpy().tolist()
    [1, 0, 3]
    """
    return _largest(sp_a, sp_b)


@public
def minimum(sp_a, sp_b, name=None):
    """Return the element-wise minimum of SparseTensors of one shape; elements that are not stored are 0.

    >>> a, b = tf.sparse.from_dense([1, 0, -2]), tf.sparse.from_dense([0, 0, 3])
    >>> tf.sparse.to_dense(tf.sparse.minimum(a, b)).numpy().tolist()
    [0, 0, -2]
    """
    return _smallest(sp_a, sp_b)


@public
def softmax(sp_input, name=None):
    """Return the softmax over the stored elements of each row of the last axis.

    >>> tf.sparse.softmax(tf.sparse.from_dense([[1.0, 0.0, 1.0]])).values.numpy()
    array([0.5, 0.5], dtype=float32)
    """
    x = required(sp_input)
    if len(x._extents) < 2:
        raise invalid_for("SparseSoftmax", f"Input should have rank >= 2, but received shape: {' '.join(map(str, x._extents))}")
    _, rows = np.unique(_places(x)[:, :-1], axis=0, return_inverse=True)
    rows, count = rows.reshape(-1), int(rows.max(initial=-1)) + 1
    raised = elementary.exp(x.values - gather(segment.unsorted_segment_max(x.values, rows, count), rows))
    sums = gather(segment.unsorted_segment_sum(raised, rows, count), rows)
    return SparseTensor(x.indices, arithmetic.truediv(raised, sums), x.dense_shape)


@public
def fill_empty_rows(sp_input, default_value, name=None):
    """Fill each empty row with `default_value` in its first element; return a vector of bools, True for these rows, too.

    >>> filled, empty = tf.sparse.fill_empty_rows(tf.sparse.from_dense([[0, 7], [0, 0]]), 9)
    >>> tf.sparse.to_dense(filled).numpy().tolist(), empty.numpy().tolist()
    ([[0, 7], [9, 0]], [False, True])
    """
    x = required(sp_input)
    places, value = _inside(x, "SparseFillEmptyRows"), tensor(default_value, x.dtype)
    empty = np.bincount(places[:, 0], minlength=x._extents[0]) == 0
    added = np.zeros((int(empty.sum()), len(x._extents)), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    whole = np.concatenate([places, added])
    order = np.argsort(whole[:, 0], kind="stable")
    values = gather(joined([x.values, broadcast_to(value, [len(added)])], 0), order)
    return SparseTensor(whole[order], values, x.dense_shape), host_constant(empty)


@public
def to_indicator(sp_input, vocab_size, name=None):
    """Return a tensor of bools, in whose last axis element i says whether i < `vocab_size` occurs in that row of `sp_input`.

    >>> rows = tf.SparseTensor([[0, 0], [0, 1]], [2, 0], [2, 2])
    >>> tf.sparse.to_indicator(rows, 3).numpy().tolist()
    [[True, False, True], [False, False, False]]
    """
    x, size = required(sp_input), static(vocab_size, "vocab_size")
    values, places = to_numpy(x.values.node), _inside(x, _sparse_to_dense.op.type)
    found = np.zeros((*x._extents[:-1], size), bool)
    if ((values < 0) | (values >= size)).any():
        raise invalid_for(_sparse_to_dense.op.type, f"Indices are not valid (out of bounds).  Shape: {plain(found.shape)}")
    found[(*places[:, :-1].T, values)] = True
    return host_constant(found)


@public
def reset_shape(sp_input, new_shape=None):
    """Return `sp_input` with a shape at least as large as its own; by default the smallest that holds its elements.

    >>> tf.sparse.reset_shape(tf.SparseTensor([[0, 1]], [5], [4, 4])).shape.as_list()
    [1, 2]
    """
    x = required(sp_input)
    if new_shape is None:
        places = _places(x)
        shape = (places.max(0) + 1).tolist() if len(places) else [0] * len(x._extents)
        return SparseTensor(x.indices, x.values, shape)
    shape = list(static_list(new_shape, "new_shape"))
    if len(shape) != len(x._extents):
        raise ValueError(f"Dimensions {len(shape)} and {len(x._extents)} are not compatible")
    if any(new < old for new, old in zip(shape, x._extents, strict=True)):
        raise ValueError(
            f"Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape ({shape}), sp_input.shape "
            f"({list(x._extents)})."
        )
    return SparseTensor(x.indices, x.values, shape)


@public
def mask(a, mask_indices, name=None):
    """Return the IndexedSlices `a` without the rows at `mask_indices`.

    >>> rows = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([4, 7]))
    >>> tf.sparse.mask(rows, [4]).indices.numpy()
    array([7], dtype=int32)
    """
    left_out = to_numpy(tensor(mask_indices).node)
    kept = np.flatnonzero(~np.isin(to_numpy(tensor(a.indices).node), left_out))
    return IndexedSlices(gather(a.values, kept), gather(a.indices, kept), a.dense_shape)


# ---------------------------------------------------------------------------------------------------------------------
# Distances


def _distance(first, second):
    """Return Levenshtein's distance: the least number of insertions, deletions and changes that turn one list into another."""
    before = list(range(len(second) + 1))
    for number, item in enumerate(first, 1):
        row = [number]
        for at, other in enumerate(second):
            row.append(min(before[at + 1] + 1, row[at] + 1, before[at] + (item != other)))
        before = row
    return before[-1]


@public
def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """Return Levenshtein's distance between the rows (the last axis) of two SparseTensors of one dtype and rank, float32.

    The rank is 2 or more. With `normalize` it is divided by the length of the truth. For an empty truth it is infinite, or 0 if
    both are empty.

    >>> words = [tf.sparse.from_dense([list(word)]) for word in ("kitten", "sitting")]
    >>> print(tf.edit_distance(*words, normalize=False).numpy())
    [3.]
    """
    hypothesis, truth = required(hypothesis, "Hypothesis"), required(truth, "Truth")
    if len(hypothesis._extents) != len(truth._extents):
        raise invalid_for("EditDistance", "Expected hypothesis and truth to have matching ranks.")
    if len(truth._extents) < 2:
        raise invalid_for("EditDistance", f"Input SparseTensors must have rank at least 2, but truth has {len(truth._extents)}.")
    if truth.dtype != hypothesis.dtype:
        raise invalid_dtype(
            f"cannot compute EditDistance as input #4(zero-based) was expected to be a {hypothesis.dtype.name} tensor but is a "
            f"{truth.dtype.name} tensor: tf.cast one of them. [Op:EditDistance]"
        )
    shape = np.stack([np.array(x._extents[:-1]) for x in (hypothesis, truth)]).max(0).tolist()
    rows = [_rows_of(x, shape) for x in (hypothesis, truth)]
    found = np.zeros(shape, np.float32)
    for place in rows[0].keys() | rows[1].keys():
        first, second = (of.get(place, []) for of in rows)
        steps = _distance(first, second)
        found[place] = (steps / len(second) if second else math.inf) if normalize else steps
    return host_constant(found)


def _rows_of(x, shape):
    rows, places = {}, inside(_places(x)[:, :-1], shape, "EditDistance")
    for place, value in zip(places.tolist(), to_numpy(x.values.node).tolist(), strict=True):
        rows.setdefault(tuple(place), []).append(value)
    return rows
