"""Embedding lookup for bags of ids: sums of table rows, with the ids of each bag as a row of a SparseTensor."""

import numpy as np

from gradtape._src.core.base.errors import invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import extents_of, to_numpy
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.ragged import RaggedTensor
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import host_constant, ones, reshape
from gradtape._src.ops.math.arithmetic import divide_no_nan, sqrt, square
from gradtape._src.ops.math.segment import _segment_sum, unsorted_segment_sum
from gradtape._src.ops.nn.embedding import embedding_lookup
from gradtape._src.ops.sparse.segment import segment_mean, segment_sqrt_n, segment_sum
from gradtape._src.ops.sparse.tensor import SparseTensor

_PLAIN = {"sum": segment_sum, "mean": segment_mean, "sqrtn": segment_sqrt_n}


def _combiner(combiner):
    if combiner is None:
        return "mean"
    if combiner not in _PLAIN:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    return combiner


def _combined(params, ids, weights, rows, count, combiner, max_norm):
    """Combine the table rows `ids`, times `weights`, into the rows of the result numbered by `rows` (a sorted NumPy vector)."""
    distinct, first, places = np.unique(to_numpy(ids.node), return_index=True, return_inverse=True)
    order = np.argsort(first)  # each id is looked up once, in order of appearance, so that the gradient lists each row once
    found = embedding_lookup(params, host_constant(distinct[order]), max_norm=max_norm)
    places = host_constant(np.argsort(order)[places].astype(np.int32))
    without_ids = np.bincount(rows, minlength=count) == 0
    rows = host_constant(rows.astype(np.int32))
    if weights is None:
        return _PLAIN[combiner](found, places, rows, num_segments=count)
    dtype = found.dtype
    found = gather(cast(found, "float32") if dtype.size == 2 else found, places)
    weights = cast(weights, found.dtype)
    found = found * reshape(weights, [-1] + [1] * (found.ndim - 1))
    total = unsorted_segment_sum(found, rows, count)
    if combiner != "sum":
        size = unsorted_segment_sum(weights if combiner == "mean" else square(weights), rows, count)
        size = size + without_ids  # adding 1 avoids the root at 0, where it has no derivative
        size = reshape(size if combiner == "mean" else sqrt(size), [-1] + [1] * (total.ndim - 1))
        total = divide_no_nan(total, size)
    return cast(total, dtype)


def _sparse(ids, weights):
    """Convert ids and weights (or None) to SparseTensors: both are sparse, or both are ragged."""
    for kind in (SparseTensor, RaggedTensor):
        if isinstance(ids, kind) and not isinstance(weights, kind | None):
            raise TypeError(f"sp_weights must be either None or {kind.__name__}, got {type(weights)}")
    if isinstance(ids, RaggedTensor):
        ids, weights = ids.to_sparse(), None if weights is None else weights.to_sparse()
    if not isinstance(ids, SparseTensor):
        raise TypeError(f"sp_ids must be SparseTensor or RaggedTensor, got {type(ids)}")
    _check(ids, weights)
    return ids, weights


def _check(ids, weights):
    if weights is None:
        return
    if extents_of(weights.values) != extents_of(ids.values):
        raise ValueError(
            f"Shapes {ids.values.shape} and {weights.values.shape} are incompatible: sp_weights has a weight for each of sp_ids."
        )


@public
def embedding_lookup_sparse(params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None, allow_fast_lookup=False):
    """Combine the rows of the table `params` at the ids in each row of `sp_ids`: shape [rows, …].

    Ids and weights are SparseTensors, or RaggedTensors. `combiner` is "mean" (the default), "sum" or "sqrtn", the sum divided
    by the root of the sum of squared weights. If `sp_weights` is None all weights are 1. `params` and `max_norm` are those of
    `embedding_lookup`. The gradient to a table is `IndexedSlices` without repeated rows.

    >>> ids = tf.sparse.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([0, 2, 1], tf.int64), [2, 2])
    >>> table = tf.constant([[1.0], [10.0], [3.0]])
    >>> print(tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean").numpy())
    [[ 2.]
     [10.]]
    """
    if not is_tensor(params) and isinstance(params, (list, tuple)) and not params:
        raise ValueError("Length of params is currently 0. Need at least one param.")
    combiner = _combiner(combiner)
    sp_ids, sp_weights = _sparse(sp_ids, sp_weights)
    rows = to_numpy(sp_ids.indices.node)[:, 0]
    if (rows[1:] < rows[:-1]).any():
        raise invalid_for(_segment_sum.op.type, "segment ids are not increasing: sort the places of sp_ids by row.")
    count = int(rows[-1]) + 1 if rows.size else 0
    weights = None if sp_weights is None else sp_weights.values
    return _combined(params, sp_ids.values, weights, rows, count, combiner, max_norm)


@public
def safe_embedding_lookup_sparse(
    embedding_weights,
    sparse_ids,
    sparse_weights=None,
    combiner="mean",
    default_id=None,
    max_norm=None,
    name=None,
    allow_fast_lookup=False,
):
    """Combine rows like `embedding_lookup_sparse`, ignoring ids < 0 and, unless `combiner` is "sum", weights ≤ 0.

    A row without ids takes the table's row `default_id`, or zeros if that is None. `sparse_ids` is [..., ids], and the result
    [..., width].

    >>> table = tf.constant([[1.0], [2.0], [4.0]])
    >>> ids = tf.sparse.from_dense([[1, 2], [0, 0]])
    >>> print(tf.nn.safe_embedding_lookup_sparse(table, ids).numpy().ravel())
    [3. 0.]
    """
    if embedding_weights is None or (isinstance(embedding_weights, (list, tuple)) and not embedding_weights):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    combiner = _combiner(combiner)
    sparse_ids, sparse_weights = _sparse(sparse_ids, sparse_weights)
    *outer, _ = sparse_ids._extents
    ids, places = to_numpy(sparse_ids.values.node), to_numpy(sparse_ids.indices.node)
    rows = np.ravel_multi_index(tuple(places[:, :-1].T), outer)
    kept = ids >= 0
    if sparse_weights is not None and combiner != "sum":
        kept &= to_numpy(sparse_weights.values.node) > 0
    count = int(np.prod(outer))  # host-side: extents
    empty = np.setdiff1d(np.arange(count), rows[kept])
    sources = np.concatenate([np.flatnonzero(kept), np.full(len(empty), len(ids))])
    rows = np.concatenate([rows[kept], empty])
    order = np.argsort(rows, kind="stable")
    sources, rows = sources[order], rows[order]
    ids = np.append(ids, 0 if default_id is None else default_id).astype(ids.dtype)[sources]
    weights = None
    if sparse_weights is not None:
        values = sparse_weights.values
        weights = gather(concat([values, ones([1], values.dtype)], 0), host_constant(sources))
    result = _combined(embedding_weights, host_constant(ids), weights, rows, count, combiner, max_norm)
    if default_id is None and len(empty):
        there = np.ones((count, *(1,) * (result.ndim - 1)), bool)
        there[empty] = False
        result = where(host_constant(there), result, tensor(0, result.dtype))
    return reshape(result, [*outer, *extents_of(result)[1:]])
