"""Counts of integers, histograms, and confusion matrices."""

from math import prod

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import guard, guarded, not_differentiable, op
from gradtape._src.core.platform.arrays import at, jnp
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of, handle, to_numpy
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import ones, plain, reshape, squeeze
from gradtape._src.ops.math.arithmetic import truediv
from gradtape._src.ops.math.clip import clip_by_value
from gradtape._src.ops.math.rounding import floor
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.ops.shapes import INDEX, named_dtype, require

WEIGHTS = ("int32", "int64", "float32", "float64")


# ---------------------------------------------------------------------------------------------------------------------
# Integers


def _bincount_rule(input, weights, size, binary_output):
    require(weights, WEIGHTS)
    require(input, ("int32", "int64"), "Tidx")
    if size < 0:
        raise invalid(f"size ({size}) must be non-negative: minlength and maxlength are counts.")
    if input.ndim > 2:
        raise invalid(f"Shape must be at most rank 2 but is rank {input.ndim}: bincount counts vectors, or the rows of a matrix.")
    if weights.shape not in (input.shape, (0,)):
        raise invalid(
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights equal to 1. "
            f"Received {plain(weights.shape)} for arr of shape {plain(input.shape)}."
        )
    return aval((*input.shape[:-1], size), weights.dtype)


# As in TensorFlow, there is no gradient: LookupError.
@op(
    "DenseBincount", infer=_bincount_rule, mixed=True, refuses=lambda input: [(input < 0, "Input arr must be non-negative!")],
    instead="sum the weights by tf.math.unsorted_segment_sum(weights, integers, size), which has a gradient",
)  # fmt: skip
def _dense_bincount(input, weights, *, size, binary_output):
    rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    if weights.size != input.size:
        weights = jnp.ones(input.shape, dtype=weights.dtype)
    weights = weights.reshape(rows.shape)
    counts = jnp.zeros((rows.shape[0], size), dtype=weights.dtype)
    places = at(counts)[jnp.arange(rows.shape[0], dtype=rows.dtype)[:, None], rows]
    counts = (places.set if binary_output else places.add)(weights, mode="drop")
    return counts.reshape(*input.shape[:-1], size)


@public
def bincount(
    arr,
    weights=None,
    minlength=None,
    maxlength=None,
    dtype=dtypes.int32,
    name=None,
    axis=None,
    binary_output=False,
) -> Tensor:
    """Count how often each of the integers 0, 1, … occurs in `arr`, or sum its `weights`.

    The result has `max(arr) + 1` entries, but at least `minlength` and at most `maxlength`. With `axis=-1` each row of a matrix
    is counted separately, else all of `arr`. `binary_output` gives 1 for each integer that occurs, and 0 for others. Counts
    have type `dtype`, sums that of the weights; no gradient passes. InvalidArgumentError for negative numbers.

    >>> tf.math.bincount([0, 2, 2, 3]).numpy()
    array([1, 0, 2, 1], dtype=int32)
    """
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    values = tensor(arr)
    if not values.dtype.is_integer:
        values = cast(values, dtypes.int32)
    weights = tensor(np.zeros(0, dtypes.as_dtype(dtype).numpy)) if weights is None else tensor(weights)
    if axis != -1 or not values.ndim:
        flat = (values.node.aval.size,)
        if extents_of(weights) == extents_of(values):
            weights = reshape(weights, flat)
        values = reshape(values, flat)
    least = 0 if minlength is None else static(minlength, "minlength")
    most = None if maxlength is None else static(maxlength, "maxlength")
    size = most if most is not None and most <= least else max(least, _next_class(values))
    size = size if most is None else min(size, most)
    return _dense_bincount(values, weights, size=size, binary_output=bool(binary_output))


# ---------------------------------------------------------------------------------------------------------------------
# Histograms


def _histogram_rule(values, value_range, nbins, dtype):
    require(values, WEIGHTS)
    if value_range.shape != (2,):
        raise invalid(f"value_range should be a vector of 2 elements. Received shape {plain(value_range.shape)}.")
    if nbins <= 0:
        raise invalid(f"nbins should be a positive number, but got '{nbins}'")
    return aval((nbins,), dtype)


def _no_histogram(values, value_range):
    low, high = value_range
    needed = "value_range should satisfy value_range[0] < value_range[1], but got"
    yield ~(low < high), lambda: f"{needed} '[{low}, {high}]': give the lower bound first."
    yield values != values, "Histogram values must not contain NaN: replace or drop them."


@op(
    "HistogramFixedWidth", infer=_histogram_rule, refuses=_no_histogram,
    instead="try a soft one, of tf.exp(-(x - center) ** 2)",
)  # fmt: skip
def _histogram(values, value_range, *, nbins, dtype):
    lowest, highest = value_range.astype(jnp.float64)
    width = highest / nbins - lowest / nbins  # the range itself may be larger than the largest number
    offset = jnp.maximum(values.reshape(-1).astype(jnp.float64), lowest) - lowest
    place = jnp.minimum(offset / width, nbins - 1).astype(jnp.int32)
    return at(jnp.zeros(nbins, dtype=dtype))[place].add(jnp.ones(place.shape, dtype=dtype), mode="promise_in_bounds")


not_differentiable(_histogram, because="a count is piecewise constant", unregistered=True)


@public
def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """Count the `values` in each of `nbins` equal parts of `value_range`, [lower, upper].

    Values outside of the range are counted in the nearest part. int32, int64, float32 or float64; InvalidArgumentError for NaN.
    The result is a vector of type `dtype`, int32 or int64.

    >>> tf.histogram_fixed_width([-1.0, 0.5, 3.0, 9.0], [0.0, 4.0], nbins=4).numpy()
    array([2, 0, 0, 2], dtype=int32)
    """
    return _histogram(values, value_range, nbins=static(nbins, "nbins"), dtype=named_dtype(dtype, INDEX, "dtype"))


@public
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """Return for each of `values` the index of its bin among `nbins` equal parts of `value_range`, [lower, upper].

    Values outside of the range get the nearest bin. Both arguments are floating, of one dtype. The result has the shape of
    `values` and is int32, whatever `dtype` says, as in TensorFlow.

    >>> tf.histogram_fixed_width_bins([-1.0, 0.5, 3.0, 9.0], [0.0, 4.0], nbins=4).numpy()
    array([0, 0, 3, 3], dtype=int32)
    """
    values = tensor(values)
    count = static(nbins, "nbins")
    if count <= 0:
        raise invalid(f"nbins should be a positive number, but got '{count}'")
    bounds = tensor(value_range)
    offset = truediv(values - bounds[0], bounds[1] - bounds[0])
    return cast(clip_by_value(floor(cast(count, values.dtype) * offset), 0.0, float(count - 1)), dtypes.int32)


# ---------------------------------------------------------------------------------------------------------------------
# Pairs of classes


def _no_class(index, count, what):
    after = f"num_classes is {count}. Classes are counted from 0."
    yield index < 0, lambda: f"`{what}` contains negative values. The least is {index.min()}; classes are counted from 0."
    yield index >= count, lambda: f"`{what}` out of bound: the largest is {index.max()}, {after}"


_CLASSES = guard("Classes", "count what", refuses=_no_class)


def _next_class(classes):
    """Return the number after the largest one among classes; 0 if there are none."""
    known = to_numpy(classes.node)
    return int(known.max(initial=-1)) + 1


def _without_last_one(labels, predictions):
    """Remove the last axis of the operand that has one axis more, if its extent is 1."""
    difference = predictions.ndim - labels.ndim
    if difference == 1 and extents_of(predictions)[-1] == 1:
        return labels, squeeze(predictions, -1)
    if difference == -1 and extents_of(labels)[-1] == 1:
        return squeeze(labels, -1), predictions
    return labels, predictions


@public
def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype=dtypes.int32, name=None) -> Tensor:
    """Return the matrix whose entry (i, j) counts the examples with label i and prediction j, or sums their `weights`.

    `labels` and `predictions` are vectors of classes 0 to `num_classes` - 1. By default `num_classes` is the largest class + 1.
    InvalidArgumentError for a class out of range. The result is of type `dtype`.

    >>> tf.math.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy().tolist()
    [[1, 0], [1, 1]]
    """
    labels, predictions = _without_last_one(tensor(labels), tensor(predictions))
    if extents_of(labels) != extents_of(predictions):
        raise invalid(
            f"Shapes of all inputs must match: values[0].shape = {plain(labels.shape)} != values[1].shape = "
            f"{plain(predictions.shape)}: give one prediction for each label."
        )
    labels, predictions = cast(labels, dtypes.int64), cast(predictions, dtypes.int64)
    if num_classes is None:
        count = max(_next_class(labels), _next_class(predictions))
    else:
        count = static(num_classes, "num_classes")
    named = zip((labels, predictions), ("labels", "predictions"), strict=True)
    labels, predictions = (handle(guarded(_CLASSES, x.node, (count, what))) for x, what in named)
    if weights is None:
        weights = ones(labels.node.aval.shape, dtype)
    else:
        weights = tensor(weights)
        if extents_of(weights) != extents_of(labels):
            raise ValueError(f"Shapes {labels.shape} and {weights.shape} are incompatible: give one weight for each label.")
        weights = cast(weights, dtype)
    return reshape(unsorted_segment_sum(weights, labels * count + predictions, count * count), (count, count))
