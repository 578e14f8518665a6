"""Segments: sums, means, products and extrema of the rows of a tensor that share an id.

`segment_*` take sorted ids, one for each row; the last id + 1 is the number of result rows. `unsorted_segment_*` take the
number of rows, and ids in any order, whose shape is a prefix of data's shape. Rows with negative ids are left out.
"""

from math import prod

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_dtype, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import _broadcast_to, _reshape, ones, plain, zeros
from gradtape._src.ops.array.sort import argsort, invert_permutation
from gradtape._src.ops.floats import wide
from gradtape._src.ops.math.arithmetic import divide, maximum, sqrt
from gradtape._src.ops.math.compare import equal, logical_not, logical_or, not_equal
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.cumulative import shift
from gradtape._src.ops.shapes import FLOATING, INDEX, NUMERIC, REAL, require

# ---------------------------------------------------------------------------------------------------------------------
# Rows by id, the transpose of a segment sum


@op("TakeRows", infer=lambda x, ids: aval((*ids.shape, *x.shape[1:]), x.dtype), saves="ids", mixed=True, traits="own takes")
def take_rows(x, ids):
    """Return the rows of `x` at `ids` (integers of any shape), with zeros for an id out of range."""
    return at(x)[ids].get(mode="fill", fill_value=0, wrap_negative_indices=False)


@gradient(take_rows)
def _(dy, x, ids):
    return _unsorted_sum(dy, ids, num_segments=x.node.aval.shape[0]), None


# ---------------------------------------------------------------------------------------------------------------------
# Kernels


def _combined(data, ids, count, how, start, ordered=False):
    """Return `count` rows, each the combination (`add`, `multiply`, `max`, `min`) of `start` and all rows of data with its id."""
    rows = jnp.full((count, *data.shape[ids.ndim :]), start, dtype=data.dtype)
    combine = getattr(at(rows)[ids.reshape(-1)], how)
    flat = data.reshape(ids.size, *rows.shape[1:])
    return combine(flat, mode="drop", indices_are_sorted=ordered, wrap_negative_indices=False)


def _lowest(dtype):
    return jnp.finfo(dtype).min if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


def _highest(dtype):
    return jnp.finfo(dtype).max if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).max


def _sum(data, ids, count, ordered=False):
    return _combined(wide(data), ids, count, "add", 0, ordered).astype(data.dtype)


def _counts(ids, count, dtype, trailing):
    """Return the number of rows in each segment, at least 1, with `trailing` axes of extent 1 added for broadcasting."""
    rows = maximum(_unsorted_sum(ones(extents_of(ids), dtypes.int32), ids, num_segments=count), 1)
    return _reshape(cast(rows, dtype), shape=(count, *(1,) * trailing))


# ---------------------------------------------------------------------------------------------------------------------
# Sorted ids


def _sorted_rule(allowed):
    def infer(data, segment_ids, num_segments):
        require(data, allowed)
        return aval((num_segments, *data.shape[1:]), data.dtype)

    return infer


@op("SegmentSum", infer=_sorted_rule(NUMERIC), saves="segment_ids", mixed=True, flops=flops.of_input(1))
def _segment_sum(data, segment_ids, *, num_segments):
    return _sum(data, segment_ids, num_segments, ordered=True)


@op("SegmentMean", infer=_sorted_rule(NUMERIC), saves="segment_ids", mixed=True)
def _segment_mean(data, segment_ids, *, num_segments):
    total = _combined(wide(data), segment_ids, num_segments, "add", 0, ordered=True)
    count = _combined(jnp.ones_like(segment_ids), segment_ids, num_segments, "add", 0, ordered=True)
    count = jnp.maximum(count, 1).reshape(-1, *(1,) * (data.ndim - 1)).astype(total.dtype)
    if jnp.issubdtype(total.dtype, jnp.integer):  # integers are rounded towards 0
        return (jnp.sign(total) * (jnp.abs(total) // count)).astype(data.dtype)
    return (total / count).astype(data.dtype)


@op("SegmentProd", infer=_sorted_rule(NUMERIC), saves="data segment_ids", mixed=True, flops=flops.of_input(1))
def _segment_prod(data, segment_ids, *, num_segments):
    return _combined(wide(data), segment_ids, num_segments, "multiply", 1, ordered=True).astype(data.dtype)


def _extremum_or_zero(data, ids, count, how, start):
    # The start is infinite, so that infinite elements count.
    start = start if data.dtype.kind in "iu" else jnp.sign(start) * jnp.inf
    found = _combined(data, ids, count, how, start, ordered=True)
    present = _combined(jnp.ones_like(ids), ids, count, "add", 0, ordered=True) > 0
    return jnp.where(present.reshape(-1, *(1,) * (data.ndim - 1)), found, jnp.zeros_like(found))


@op("SegmentMax", infer=_sorted_rule(REAL), saves="data segment_ids", mixed=True, flops=flops.of_input(1))
def _segment_max(data, segment_ids, *, num_segments):
    return _extremum_or_zero(data, segment_ids, num_segments, "max", _lowest(data.dtype))


@op("SegmentMin", infer=_sorted_rule(REAL), saves="data segment_ids", mixed=True, flops=flops.of_input(1))
def _segment_min(data, segment_ids, *, num_segments):
    return _extremum_or_zero(data, segment_ids, num_segments, "min", _highest(data.dtype))


def _by_sorted_ids(function, data, segment_ids):
    """Record a segment op after checking the ids, whose values determine the number of rows."""
    data, ids = tensor(data), tensor(segment_ids)
    name = function.op.type
    require(ids.node.aval, INDEX, "Tindices")
    if not data.ndim:
        raise invalid_for(name, "input must be at least rank 1, received a scalar as data")
    if ids.ndim != 1:
        raise invalid_for(name, f"segment_ids should be a vector. Received shape {plain(extents_of(ids))}")
    if not ids.node.aval.tensor_shape.is_compatible_with(extents_of(data)[:1]):
        raise invalid_for(
            name,
            f"segment_ids should be the same size as dimension 0 of input. Received {extents_of(ids)[0]} ids for data of shape "
            f"{plain(data.shape)}",
        )
    values = to_numpy(ids.node)
    if not values.size:
        return function(data, ids, num_segments=0)
    steps = np.diff(values)
    if (steps < 0).any():
        raise invalid_for(
            name,
            f"segment ids are not increasing\n{values[:-1][steps < 0][0]} is followed by {values[1:][steps < 0][0]}. Sort the "
            f"rows by id, or use unsorted_{function.__name__.lstrip('_')}.",
        )
    if values[0] < 0:
        raise invalid_for(
            name,
            f"Segment id {values[0]} out of range [0, {values[-1] + 1}), possibly because 'segment_ids' input is not sorted.\n"
            "Ids begin at 0.",
        )
    return function(data, ids, num_segments=int(values[-1]) + 1)


@public
def segment_sum(data, segment_ids, name=None) -> Tensor:
    """Sum the rows of `data` by id: row i of the result is the sum of the rows with id i, or 0 if there are none.

    `segment_ids` is a sorted vector (int32 or int64) with an id ≥ 0 for each row; else InvalidArgumentError. Any numeric
    dtype; the result has `segment_ids[-1] + 1` rows.

    >>> tf.math.segment_sum([1.0, 2.0, 3.0], [0, 0, 1]).numpy()
    array([3., 3.], dtype=float32)
    """
    return _by_sorted_ids(_segment_sum, data, segment_ids)


@public
def segment_mean(data, segment_ids, name=None) -> Tensor:
    """Return the mean of the rows of `data` for each id, 0 if there are none. Integers are rounded towards 0. See
    `segment_sum`.

    >>> tf.math.segment_mean([1.0, 2.0, 3.0], [0, 0, 1]).numpy()
    array([1.5, 3. ], dtype=float32)
    """
    return _by_sorted_ids(_segment_mean, data, segment_ids)


@public
def segment_prod(data, segment_ids, name=None):
    """Return the product of the rows of `data` for each id, 1 if there are none. Gradients are exact at 0. See `segment_sum`.

    >>> tf.math.segment_prod([1.0, 2.0, 3.0], [0, 0, 1]).numpy()
    array([2., 3.], dtype=float32)
    """
    return _by_sorted_ids(_segment_prod, data, segment_ids)


@public
def segment_max(data, segment_ids, name=None) -> Tensor:
    """Return the maximum of the rows of `data` for each id, 0 if there are none; ties share the gradient. See `segment_sum`.

    >>> tf.math.segment_max([1.0, 2.0, 3.0], [0, 0, 1]).numpy()
    array([2., 3.], dtype=float32)
    """
    return _by_sorted_ids(_segment_max, data, segment_ids)


@public
def segment_min(data, segment_ids, name=None):
    """Return the minimum of the rows of `data` for each id, 0 if there are none; ties share the gradient. See `segment_sum`.

    >>> tf.math.segment_min([1.0, 2.0, 3.0], [0, 0, 1]).numpy()
    array([1., 3.], dtype=float32)
    """
    return _by_sorted_ids(_segment_min, data, segment_ids)


# ---------------------------------------------------------------------------------------------------------------------
# Ids in any order


def _unsorted_rule(allowed, index):
    def infer(data, segment_ids, num_segments):
        require(data, allowed)
        require(segment_ids, index, "Tindices")
        if data.shape[: segment_ids.ndim] != segment_ids.shape:
            raise invalid(
                f"data.shape = {plain(data.shape)} does not start with segment_ids.shape = {plain(segment_ids.shape)}: give an "
                "id for each row."
            )
        return aval((num_segments, *data.shape[segment_ids.ndim :]), data.dtype)

    return infer


def _too_large(segment_ids, num_segments):
    wrong = segment_ids >= num_segments

    def message():
        place = tuple(np.argwhere(wrong)[0])
        value = f"segment_ids{plain(place) if place else ''} = {segment_ids[place]}"
        return f"{value} is out of range [0, {num_segments}): an id below 0 leaves a row out, one above is a mistake."

    yield wrong, message


def _unsorted(type, allowed, saves="segment_ids", index=INDEX):
    declared = {"refuses": _too_large, "flops": flops.of_input(1)}
    return op(type, infer=_unsorted_rule(allowed, index), saves=saves, mixed=True, **declared)


@_unsorted("UnsortedSegmentSum", NUMERIC, index=("int16", *INDEX))
def _unsorted_sum(data, segment_ids, *, num_segments):
    return _sum(data, segment_ids, num_segments)


@_unsorted("UnsortedSegmentProd", NUMERIC, saves="data segment_ids")
def _unsorted_prod(data, segment_ids, *, num_segments):
    return _combined(wide(data), segment_ids, num_segments, "multiply", 1).astype(data.dtype)


@_unsorted("UnsortedSegmentMax", REAL, saves="data segment_ids")
def _unsorted_max(data, segment_ids, *, num_segments):
    return _combined(data, segment_ids, num_segments, "max", _lowest(data.dtype))


@_unsorted("UnsortedSegmentMin", REAL, saves="data segment_ids")
def _unsorted_min(data, segment_ids, *, num_segments):
    return _combined(data, segment_ids, num_segments, "min", _highest(data.dtype))


def segment_count(num_segments):
    """Convert the argument `num_segments` to an int; InvalidArgumentError for a float."""
    if isinstance(num_segments, float):
        raise invalid_dtype(
            "Value for attr 'Tnumsegments' of float is not in the list of allowed values: int32, int64. num_segments is "
            f"{num_segments}; give an integer."
        )
    return static(num_segments, "num_segments")


def _by_ids(function, data, segment_ids, num_segments):
    num_segments = segment_count(num_segments)
    if num_segments < 0:
        raise invalid_for(function.op.type, f"Input num_segments == {num_segments} must not be negative.")
    return function(tensor(data), tensor(segment_ids), num_segments=num_segments)


@public
def unsorted_segment_sum(data, segment_ids, num_segments, name=None) -> Tensor:
    """Return the sum of the rows of `data` for each of the ids 0 to `num_segments` - 1; 0 where there are none.

    The shape of `segment_ids` (int32 or int64) is a prefix of data's shape. Rows with a negative id are left out; an id of
    `num_segments` or more is an InvalidArgumentError. Any numeric dtype.

    >>> tf.math.unsorted_segment_sum([1.0, 2.0, 3.0], [1, 0, 1], num_segments=2).numpy()
    array([2., 4.], dtype=float32)
    """
    return _by_ids(_unsorted_sum, data, segment_ids, num_segments)


@public
def unsorted_segment_prod(data, segment_ids, num_segments, name=None):
    """Return the product of the rows for each id, 1 where there are none. Gradients are exact at 0. See
    `unsorted_segment_sum`.

    >>> tf.math.unsorted_segment_prod([1.0, 2.0, 3.0], [1, 0, 1], num_segments=2).numpy()
    array([2., 3.], dtype=float32)
    """
    return _by_ids(_unsorted_prod, data, segment_ids, num_segments)


@public
def unsorted_segment_max(data, segment_ids, num_segments, name=None) -> Tensor:
    """Return the maximum of the rows for each id, the dtype's least value where there are none. Ties share the gradient.

    See `unsorted_segment_sum`. Real dtypes.

    >>> tf.math.unsorted_segment_max([1.0, 2.0, 3.0], [1, 0, 1], num_segments=2).numpy()
    array([2., 3.], dtype=float32)
    """
    return _by_ids(_unsorted_max, data, segment_ids, num_segments)


@public
def unsorted_segment_min(data, segment_ids, num_segments, name=None):
    """Return the minimum of the rows for each id, the dtype's largest value where there are none. Ties share the gradient.

    See `unsorted_segment_sum`. Real dtypes.

    >>> tf.math.unsorted_segment_min([1.0, 2.0, 3.0], [1, 0, 1], num_segments=2).numpy()
    array([2., 1.], dtype=float32)
    """
    return _by_ids(_unsorted_min, data, segment_ids, num_segments)


@public
def unsorted_segment_mean(data, segment_ids, num_segments, name=None) -> Tensor:
    """Return the mean of the rows for each id, 0 where there are none. Integers give float64. See `unsorted_segment_sum`.

    >>> tf.math.unsorted_segment_mean([1.0, 2.0, 3.0], [1, 0, 1], num_segments=2).numpy()
    array([2., 2.], dtype=float32)
    """
    total, count = _sum_and_counts(data, segment_ids, num_segments)
    return divide(total, count)


@public
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """Return the sum of the rows for each id divided by √(number of rows); 0 where there are none.

    Floating or complex dtypes. See `unsorted_segment_sum`.

    >>> tf.math.unsorted_segment_sqrt_n([1.0, 2.0, 3.0], [1, 0, 1], num_segments=2).numpy().round(4)
    array([2.    , 2.8284], dtype=float32)
    """
    data = tensor(data)
    require(data.node.aval, (*FLOATING, "complex64", "complex128"))
    total, count = _sum_and_counts(data, segment_ids, num_segments)
    return divide(total, sqrt(count))


def _sum_and_counts(data, segment_ids, num_segments):
    data, ids = tensor(data), tensor(segment_ids)
    total = unsorted_segment_sum(data, ids, num_segments)
    return total, _counts(ids, extents_of(total)[0], data.dtype, total.ndim - 1)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


def _sum_gradient(dy, segment_ids):
    return take_rows(dy, segment_ids), None


def _mean_gradient(dy, segment_ids):
    return take_rows(dy / _counts(segment_ids, extents_of(dy)[0], dy.dtype, dy.ndim - 1), segment_ids), None


def _extremum_gradient(extremum):
    def rule(dy, data, segment_ids, *, num_segments):
        """Share `dy` equally among the elements that are equal to their segment's extremum.

        It is computed again, as the gradient of `tf.reduce_max` does.
        """
        chosen = equal(data, take_rows(extremum(data, segment_ids, num_segments=num_segments), segment_ids))
        share = dy / maximum(_unsorted_sum(cast(chosen, data.dtype), segment_ids, num_segments=num_segments), 1)
        return where(chosen, take_rows(share, segment_ids), zeros((), data.dtype)), None

    return rule


def _segment_prod_gradient(dy, data, segment_ids):
    return take_rows(dy, segment_ids) * conj(_others(data, segment_ids)), None


def _unsorted_prod_gradient(dy, data, segment_ids):
    shape, count = data.node.aval.shape, prod(extents_of(segment_ids))
    flat_ids = _reshape(segment_ids, shape=(count,))
    order = argsort(flat_ids)
    rows = take_rows(_reshape(data, shape=(count, *shape[segment_ids.ndim :])), order)
    others = take_rows(_others(rows, take_rows(flat_ids, order)), invert_permutation(order))
    return take_rows(dy, segment_ids) * conj(_reshape(others, shape=shape)), None


def _others(data, ids):
    """Return for each row of `data` the product of the other rows of its segment, without division; `ids` is sorted."""
    shape, dtype = data.node.aval.shape, data.dtype
    first = np.arange(shape[0]) == 0
    begins = logical_or(not_equal(ids, shift(ids, axis=0, reverse=False)), tensor(first))
    ends = logical_or(not_equal(ids, shift(ids, axis=0, reverse=True)), tensor(first[::-1].copy()))
    before, after = [
        _segment_recurrence(
            shift(data, axis=0, reverse=backwards),
            cast(_over_rows(edges, shape), dtype),
            edges,
            reverse=backwards,
        )
        for backwards, edges in ((False, begins), (True, ends))
    ]
    return before * after


def _over_rows(flags, shape):
    """Broadcast a flag per row to the row's elements."""
    return _broadcast_to(_reshape(flags, shape=(shape[0], *(1,) * (len(shape) - 1))), shape=shape)


def _recurrence_rule(a, b, restarts, reverse):
    if a.shape != b.shape or restarts.shape != b.shape[:1]:
        raise invalid(
            "a recurrence over segments needs factors and terms of one shape and a flag for each row, received "
            f"{list(a.shape)}, {list(b.shape)} and {list(restarts.shape)}."
        )
    return b


@op("SegmentRecurrence", unhosted="it loops", infer=_recurrence_rule, saves="a restarts y", mixed=True, traits="own")
def _segment_recurrence(a, b, restarts, *, reverse):
    """Return `hₜ = aₜ·hₜ₋₁ + bₜ` along the first axis, and `hₜ = bₜ` in rows where `restarts`; from the end if `reverse`.

    A factor of 0 is no substitute for a restart: NaN and infinities of the row before would pass through.
    """
    flags = lax.broadcast_in_dim(restarts, b.shape, (0,))

    def after(first, second):
        (a1, b1, f1), (a2, b2, f2) = first, second
        return a1 * a2, jnp.where(f2, b2, b1 * a2 + b2), f1 | f2

    return lax.associative_scan(after, (a, b, flags), reverse=reverse, axis=0)[1]


@gradient(_segment_recurrence)
def _(
    dy, a, restarts, y, needs_a, needs_b, *, reverse
):  # the gradient of LinearRecurrence; backwards, the restarts are at the last row of each segment
    last = tensor(np.arange(extents_of(dy)[0]) == (0 if reverse else extents_of(dy)[0] - 1))
    following = logical_or(shift(restarts, axis=0, reverse=not reverse), last)
    db = _segment_recurrence(shift(conj(a), axis=0, reverse=not reverse), dy, following, reverse=not reverse)
    if not needs_a:
        return None, db if needs_b else None, None
    inside = logical_not(_over_rows(restarts, dy.node.aval.shape))
    da = where(inside, db * conj(shift(y, axis=0, reverse=reverse)), zeros((), dy.dtype))
    return da, db if needs_b else None, None


gradient(_segment_sum)(_sum_gradient)
gradient(_unsorted_sum)(_sum_gradient)
gradient(_segment_mean)(_mean_gradient)
gradient(_segment_prod)(_segment_prod_gradient)
gradient(_unsorted_prod)(_unsorted_prod_gradient)
for function in (_segment_max, _segment_min, _unsorted_max, _unsorted_min):
    gradient(function)(_extremum_gradient(function))
