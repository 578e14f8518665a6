"""Reductions of RaggedTensors, and segment ops on their rows."""

import functools

import numpy as np

from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.tensor import extents_of, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import zeros_like
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.ragged import RaggedTensor, with_splits
from gradtape._src.ops.array.ragged_rows import columns, rowids, splits_of
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, ones, reshape, stop_gradient
from gradtape._src.ops.dispatch import version
from gradtape._src.ops.math import reduction, segment
from gradtape._src.ops.math.arithmetic import maximum, sqrt, square, subtract, truediv
from gradtape._src.ops.math.compare import is_finite
from gradtape._src.ops.math.elementary import exp, log
from gradtape._src.ops.shapes import bounded_axis
from gradtape._src.ops.strings import elements


def segments(combine, data, ids, count):
    """Combine the rows of `data` with equal `ids`.

    Ragged rows are combined element by element. A row of the result is as long as the longest of its segment.
    """
    if not isinstance(data, RaggedTensor):
        return combine(data, ids, count)
    splits, ids = data._splits, to_numpy(tensor(ids).node)
    longest = np.zeros(count, np.int64)
    np.maximum.at(longest, ids, np.diff(splits))
    into = splits_of(longest, splits.dtype)
    places = into[:-1][ids][rowids(splits)] + columns(splits)
    return with_splits(segments(combine, data.values, places, int(into[-1])), [into])


def _over(combine, dense, x, axis):
    """Reduce one axis of a RaggedTensor: a ragged axis by segments, an axis of the values by `dense`."""
    if axis == 0:
        rows = len(x._splits) - 1
        return segments(combine, x, np.zeros(rows, np.int64), 1).values
    if axis == 1:
        return segments(combine, x.values, x.value_rowids(), x.nrows())
    if isinstance(x.values, RaggedTensor):
        return x.with_values(_over(combine, dense, x.values, axis - 1))
    return x.with_values(dense(x.values, axis=axis - 1))


def _reduced(combine, dense, x, axis, keepdims):
    if axis is None:
        result = dense(x.flat_values)
        return reshape(result, [1] * x.shape.rank) if keepdims else result
    axes = sorted({bounded_axis(given, x.shape.rank) for given in static_list(axis, "axis")})
    for place in reversed(axes):
        x = _over(combine, dense, x, place) if isinstance(x, RaggedTensor) else dense(x, axis=place)
    for place in axes if keepdims else ():
        x = expand_dims(x, place)
    return x


_COMBINED = {
    reduction.reduce_sum: segment.unsorted_segment_sum,
    reduction.reduce_prod: segment.unsorted_segment_prod,
    reduction.reduce_max: segment.unsorted_segment_max,
    reduction.reduce_min: segment.unsorted_segment_min,
}


def _plain(dense, combine):
    def reduce(input_tensor, axis=None, keepdims=False):
        return _reduced(combine, dense, input_tensor, axis, keepdims)

    return reduce


for _dense, _combine in _COMBINED.items():
    version(RaggedTensor, _dense)(_plain(_dense, _combine))


def _log_sum_exp(data, ids, count):
    """Return log(Σ exp(x)) of each segment, without overflow; -inf for an empty segment."""
    largest = stop_gradient(segment.unsorted_segment_max(data, ids, count))
    largest = where(is_finite(largest), largest, zeros_like(largest))
    return log(segment.unsorted_segment_sum(exp(data - gather(largest, ids)), ids, count)) + largest


version(RaggedTensor, reduction.reduce_logsumexp)(_plain(reduction.reduce_logsumexp, _log_sum_exp))


def _of_bools(dense, combine):
    def segmented(data, ids, count):
        return cast(combine(cast(data, dtypes.int32), ids, count), dtypes.bool)

    return _plain(dense, segmented)


version(RaggedTensor, reduction.reduce_all)(_of_bools(reduction.reduce_all, segment.unsorted_segment_prod))
version(RaggedTensor, reduction.reduce_any)(_of_bools(reduction.reduce_any, segment.unsorted_segment_sum))


@version(RaggedTensor, elements.reduce_join)
def _join(inputs, axis=None, keepdims=False, separator=""):
    combine, dense = [functools.partial(f, separator=separator) for f in (elements.unsorted_segment_join, elements.reduce_join)]
    return _reduced(combine, dense, inputs, axis, keepdims)


@version(RaggedTensor, reduction.reduce_mean)
def _mean(input_tensor, axis=None, keepdims=False):
    total = reduction.reduce_sum(input_tensor, axis, keepdims)
    counted = input_tensor.with_flat_values(ones(extents_of(input_tensor.flat_values), input_tensor.dtype))
    return truediv(total, reduction.reduce_sum(counted, axis, keepdims))


@version(RaggedTensor, reduction.reduce_variance)
def _variance(input_tensor, axis=None, keepdims=False):
    of_squares = reduction.reduce_mean(square(input_tensor), axis, keepdims)
    mean = reduction.reduce_mean(input_tensor, axis, keepdims)
    return maximum(subtract(of_squares, square(mean)), 0)  # rounding may leave a number below 0


@version(RaggedTensor, reduction.reduce_std)
def _std(input_tensor, axis=None, keepdims=False):
    return sqrt(reduction.reduce_variance(input_tensor, axis, keepdims))


def _by_segment(combine):
    def segmented(data, segment_ids, num_segments):
        if not isinstance(data, RaggedTensor):
            raise ValueError("segment_ids is ragged, and data is not: both must have the same rows.")
        if isinstance(segment_ids, RaggedTensor):
            data, segment_ids = data.flat_values, segment_ids.flat_values
        return segments(combine, data, segment_ids, int(num_segments))

    return segmented


for _combine in (
    segment.unsorted_segment_sum, segment.unsorted_segment_prod, segment.unsorted_segment_max, segment.unsorted_segment_min,
    segment.unsorted_segment_mean, segment.unsorted_segment_sqrt_n,
):  # fmt: skip
    version(RaggedTensor, _combine)(_by_segment(_combine))
