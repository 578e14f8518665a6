"""Segment ops on rows selected by index: sums, means and root-n sums of `data[indices]` for each segment id."""

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import to_numpy
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.gather import scatter_rows
from gradtape._src.ops.array.shape import host_shape, plain
from gradtape._src.ops.floats import wide
from gradtape._src.ops.math.arithmetic import sqrt
from gradtape._src.ops.math.segment import _counts, _sum, segment_count, take_rows
from gradtape._src.ops.shapes import FLOATING, INDEX, REAL, require


def _rule(allowed):
    def infer(data, indices, segment_ids, num_segments, sparse_gradient, extent):
        require(data, allowed)
        require(indices, INDEX, "Tidx")
        require(segment_ids, INDEX, "Tsegmentids")
        if not data.ndim:
            raise invalid("Shape must be at least rank 1: data is a scalar, it has no rows.")
        if indices.ndim != 1:
            raise invalid(f"indices should be a vector. Received shape {plain(indices.shape)}.")
        if segment_ids.shape != indices.shape:
            raise invalid(
                f"segment_ids and indices should have same size. Received {plain(segment_ids.shape)} and {plain(indices.shape)}."
            )
        return aval((num_segments, *data.shape[1:]), data.dtype)

    return infer


def _refused(indices, segment_ids, num_segments, extent):
    """Refuse invalid row numbers and segment ids."""
    outside = (indices < 0) | (indices >= extent)
    yield outside, lambda: f"Bad: indices[{(i := np.flatnonzero(outside)[0])}] == {indices[i]} out of range [0, {extent})"
    yield segment_ids[1:] < segment_ids[:-1], "segment ids are not increasing: sort the indices by segment."
    yield segment_ids < 0, lambda: f"segment ids must be >= 0, received {segment_ids[0]}"
    more = f"and num_segments={num_segments}"
    yield segment_ids >= num_segments, lambda: f"segment ids must be < num_segments, received {segment_ids[-1]} {more}"


def _rows_per_segment(ids, count, dtype, trailing):
    rows = at(jnp.zeros((count,), jnp.int32))[ids].add(1, mode="drop", wrap_negative_indices=False)
    return lax.max(rows, jnp.ones_like(rows)).astype(dtype).reshape(count, *(1,) * trailing)


def _reduced(data, indices, segment_ids, count, divisor):
    rows = at(wide(data))[indices].get(mode="fill", fill_value=0, wrap_negative_indices=False)
    total = _sum(rows, segment_ids, count, ordered=True)
    if divisor is not None:
        total = total / divisor(_rows_per_segment(segment_ids, count, total.dtype, data.ndim - 1))
    return total.astype(data.dtype)


def _segment_op(type, allowed, divisor, divide):
    """Declare the op `type`, which divides sums by `divisor(counts)`, with its gradient, which divides by `divide(counts)`."""

    @op(
        type,
        infer=_rule(allowed),
        saves="indices segment_ids",
        mixed=True,
        refuses=_refused,
        gives_slices=True,
    )
    def segment(data, indices, segment_ids, *, num_segments, sparse_gradient, extent):
        return _reduced(data, indices, segment_ids, num_segments, divisor)

    @gradient(segment)
    def _(dy, data, indices, segment_ids, *, num_segments, sparse_gradient):
        if divide is not None:
            dy = dy / divide(_counts(segment_ids, num_segments, dy.dtype, dy.ndim - 1))
        rows, shape = take_rows(dy, segment_ids), data.node.aval.shape
        if sparse_gradient:
            return IndexedSlices(rows, indices, host_shape(shape)), None, None
        return scatter_rows(rows, indices, shape), None, None

    return segment


def _plain(x):
    return x


def _pair(type, *declared):
    return tuple([_segment_op(f"{type}{suffix}", *declared) for suffix in ("", "WithNumSegments")])


_SUM = _pair("SparseSegmentSum", REAL, None, None)
_MEAN = _pair("SparseSegmentMean", FLOATING, _plain, _plain)
_SQRT_N = _pair("SparseSegmentSqrtN", FLOATING, lambda x: jnp.sqrt(x), sqrt)


def _by_rows(functions, data, indices, segment_ids, num_segments, sparse_gradient):
    data = tensor(data)
    indices, ids = [np.zeros(0, np.int32) if isinstance(x, (list, tuple)) and not x else x for x in (indices, segment_ids)]
    indices, ids = tensor(indices), tensor(ids)
    function = functions[0 if num_segments is None else 1]
    if num_segments is None:
        values = to_numpy(ids.node)
        num_segments = int(values.max()) + 1 if values.size else 0
    count = segment_count(num_segments)
    if count < 0:
        raise invalid_for(function.op.type, f"segment ids must be >= 0, num_segments too: received {count}.")
    extent = data.node.aval.shape[0] if data.ndim else 0
    return function(data, indices, ids, num_segments=count, sparse_gradient=bool(sparse_gradient), extent=extent)


@public
def segment_sum(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Return the sum of the rows `data[indices]` for each segment id; 0 where there are none.

    `indices` and `segment_ids` are vectors of one size (int32 or int64), the ids sorted and ≥ 0; else
    InvalidArgumentError. The result has `num_segments` rows, `segment_ids[-1] + 1` by default. With `sparse_gradient` the
    gradient to `data` is IndexedSlices.

    >>> print(tf.sparse.segment_sum(tf.constant([[1.0], [2.0], [4.0]]), [0, 2], [0, 0]).numpy())
    [[5.]]
    """
    return _by_rows(_SUM, data, indices, segment_ids, num_segments, sparse_gradient)


@public
def segment_mean(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Return the mean of the rows `data[indices]` for each segment id; 0 where there are none. See `segment_sum`. Float.

    >>> print(tf.sparse.segment_mean(tf.constant([[1.0], [2.0], [4.0]]), [0, 1], [0, 0]).numpy())
    [[1.5]]
    """
    return _by_rows(_MEAN, data, indices, segment_ids, num_segments, sparse_gradient)


@public
def segment_sqrt_n(data, indices, segment_ids, num_segments=None, name=None, sparse_gradient=False):
    """Return the sum of the rows `data[indices]` for each segment id, divided by the root of their number. See `segment_sum`.
    Float.

    >>> print(tf.sparse.segment_sqrt_n(tf.constant([[1.0], [3.0]]), [0, 1], [0, 0]).numpy())
    [[2.828427]]
    """
    return _by_rows(_SQRT_N, data, indices, segment_ids, num_segments, sparse_gradient)
