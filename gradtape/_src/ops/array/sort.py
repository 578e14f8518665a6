"""Sorting, top-k, argmax and argmin, searching, permutations."""

from math import prod
from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.convert import settled, static, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.shape import plain, reshape
from gradtape._src.ops.shapes import BOOL, INDEX, REAL, axis_of, named_dtype, require

INT32 = np.dtype(np.int32)


# ---------------------------------------------------------------------------------------------------------------------
# Rows by index, and back: the gradients of sorting ops


@op("TakeAlongAxis", infer=lambda x, indices, axis: aval(indices.shape, x.dtype), saves="indices", mixed=True, traits="own takes")
def take_along(x, indices, *, axis):
    """Return the elements of `x` at `indices` along `axis`; all other extents agree."""
    return jnp.take_along_axis(x, indices, axis, mode="promise_in_bounds")


@gradient(take_along)
def _(dy, x, indices, *, axis):
    return put_along(dy, indices, axis=axis, extent=x.node.aval.shape[axis]), None


def _put_rule(x, indices, axis, extent):
    return aval((*x.shape[:axis], extent, *x.shape[axis + 1 :]), x.dtype)


@op("PutAlongAxis", infer=_put_rule, saves="indices", mixed=True, flops=0, traits="own")
def put_along(x, indices, *, axis, extent):
    """Scatter `x` to the distinct `indices` along `axis` of zeros of size `extent`: the transpose of `take_along`."""
    places = [lax.broadcasted_iota(indices.dtype, indices.shape, a) if a != axis else indices for a in range(x.ndim)]
    zeros = jnp.zeros((*x.shape[:axis], extent, *x.shape[axis + 1 :]), dtype=x.dtype)
    return at(zeros)[tuple(places)].set(x, unique_indices=True, mode="promise_in_bounds")


@gradient(put_along)
def _(dy, indices, *, axis):
    return take_along(dy, indices, axis=axis), None


# ---------------------------------------------------------------------------------------------------------------------
# Sorting


def _sort_rule(values, axis, descending):
    require(values, REAL)
    return values, aval(values.shape, INT32)


@op(
    "Sort", infer=_sort_rule, saves="y1", traits="own",
    instead="take the sorted values, `tf.sort(x)`, or a soft rank, `tf.reduce_sum(tf.sigmoid(x[None] - x[:, None]), 1)`",
)  # fmt: skip
def _sort(values, *, axis, descending):
    def reversed_order(x):
        return ~x if jnp.issubdtype(x.dtype, jnp.integer) else -x

    positions = lax.broadcasted_iota(jnp.int32, values.shape, axis)
    if not descending:
        return lax.sort((values, positions), dimension=axis, is_stable=True, num_keys=1)
    result, order = lax.sort((reversed_order(values), positions), dimension=axis, is_stable=True, num_keys=1)
    return reversed_order(result), order


@gradient(_sort)
def _(dy, dplaces, places, *, axis):
    return put_along(dy, places, axis=axis, extent=dy.node.aval.shape[axis])


def _sorted(values, axis, direction):
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of ASCENDING, DESCENDING. Received: direction={direction}")
    x = tensor(values)
    if isinstance(axis, (list, tuple, str)):
        raise ValueError(f"Argument `axis` must be a constant scalar. Received: axis={axis!r}.")
    return _sort(x, axis=axis_of(static(axis, "axis"), x.ndim), descending=direction == "DESCENDING")


@public
def sort(values, axis=-1, direction="ASCENDING", name=None) -> Tensor:
    """Return `values` sorted along `axis`, "ASCENDING" or "DESCENDING"; NaN comes last. The dtype is real; the shape is kept.

    The gradient goes back to the original positions; equal elements keep their order.

    >>> tf.sort([3.0, 1.0, 2.0], direction="DESCENDING").numpy()
    array([3., 2., 1.], dtype=float32)
    """
    return _sorted(values, axis, direction)[0]


@public
def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None) -> Tensor:
    """Return the indices (int32) that sort `values` along `axis`. Equal elements keep their order, whatever `stable` says.

    >>> tf.argsort([3.0, 1.0, 2.0]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    return _sorted(values, axis, direction)[1]


class TopKV2(NamedTuple):
    """The result of `top_k`."""

    values: Tensor
    indices: Tensor


def _top_k_rule(input, k, sorted, index_type):
    require(input, REAL)
    if not input.ndim:
        raise invalid("input must be >= 1-D, got shape []. Give a vector, or a tensor of rows.")
    if k < 0:
        raise invalid(f"Need k >= 0, got {k}")
    if k > input.shape[-1]:
        raise invalid(
            f"input must have at least k columns. Had {input.shape[-1]}, needed {k}\nk cannot exceed the last extent of shape "
            f"{plain(input.shape)}."
        )
    shape = (*input.shape[:-1], k)
    return aval(shape, input.dtype), aval(shape, index_type)


@op(
    "TopKV2", infer=_top_k_rule, saves="y1",
    instead="take the values that top_k gives beside the places, or multiply by a soft choice, `tf.nn.softmax(x)`",
)  # fmt: skip
def _top_k(input, *, k, sorted, index_type):
    if jnp.issubdtype(input.dtype, jnp.floating):  # -0 and 0 are made equal
        input = jnp.where(input == 0, jnp.zeros_like(input), input)
    values, indices = lax.top_k(input, k)
    return values, indices.astype(index_type)


@gradient(_top_k)
def _(dy, dplaces, input, places):
    return put_along(dy, places, axis=input.ndim - 1, extent=extents_of(input)[-1])


@public
def top_k(input, k=1, sorted=True, index_type=dtypes.int32, name=None):
    """Return the `k` largest elements along the last axis, largest first, and their indices: `(values, indices)`.

    Real dtypes; both have `input`'s shape with last extent k; `index_type` is int16, int32 or int64. Of equal elements
    the first comes first, and gets the gradient. InvalidArgumentError if there are fewer than k elements.

    >>> values, indices = tf.math.top_k([1.0, 5.0, 3.0], k=2)
    >>> values.numpy(), indices.numpy()
    (array([5., 3.], dtype=float32), array([1, 2], dtype=int32))
    """
    index_type = named_dtype(index_type, ("int16", *INDEX), "index_type")
    return TopKV2(*_top_k(tensor(input), k=settled(k, "k"), sorted=bool(sorted), index_type=index_type))


def _in_top_k_rule(predictions, targets, k):
    require(targets, INDEX)
    if predictions.ndim != 2:
        raise invalid(f"predictions must be 2-dimensional, received shape {plain(predictions.shape)}.")
    if targets.ndim != 1:
        raise invalid(f"targets must be 1-dimensional, received shape {plain(targets.shape)}.")
    if predictions.shape[0] != targets.shape[0]:
        raise invalid(
            f"First dimension of predictions {predictions.shape[0]} must match length of targets {targets.shape[0]}: give one "
            "target for each row."
        )
    return aval(targets.shape, BOOL)


@op(
    "InTopKV2", infer=_in_top_k_rule, mixed=True, traits="holds_for_all",
    instead="take a loss that follows the scores, such as tf.nn.sparse_softmax_cross_entropy_with_logits: a hit rate only counts",
)  # fmt: skip
def _in_top_k(predictions, targets, *, k):
    classes = predictions.shape[1]
    known = (targets >= 0) & (targets < classes) & jnp.all(jnp.isfinite(predictions), axis=1)
    if not classes:
        return known
    place = jnp.clip(targets, 0, classes - 1)[:, None]
    mine = jnp.take_along_axis(predictions, place, axis=1, mode="promise_in_bounds")
    return known & (jnp.sum(predictions > mine, axis=1, dtype=jnp.int32) < k)


not_differentiable(_in_top_k, because="whether a class is among the best k is a bool", unregistered=True)


@public
def in_top_k(targets, predictions, k, name=None):
    """Return whether each row's target class is among its `k` highest predictions, ties with the k-th included: bool [batch].

    `targets` integers [batch], `predictions` float32 [batch, classes]. False where the target is out of range or a
    prediction of the row is not finite.

    >>> tf.math.in_top_k([0, 1], [[0.1, 0.9], [0.2, 0.8]], k=1).numpy()
    array([False,  True])
    """
    predictions = convert.tensor(predictions, hint=dtypes.float32)
    if predictions.dtype != dtypes.float32:
        raise convert.mismatch(_in_top_k.op, 0, np.dtype(np.float32), predictions.dtype.numpy)
    return _in_top_k(predictions, tensor(targets), k=static(k, "k"))


# ---------------------------------------------------------------------------------------------------------------------
# Where


def _arg_rule(input, axis, output_type):
    require(input, (*REAL, "bool"))
    if not input.shape[axis]:
        raise invalid(
            f"Reduction axis {axis} is empty in shape {plain(input.shape)}: there is no largest or smallest of nothing."
        )
    return aval((*input.shape[:axis], *input.shape[axis + 1 :]), output_type)


def _without_nan(x, replacement):
    return jnp.where(jnp.isnan(x), jnp.array(replacement, x.dtype), x) if jnp.issubdtype(x.dtype, jnp.floating) else x


@op(
    "ArgMax", infer=_arg_rule, flops=flops.reduction,
    instead="try the values, tf.reduce_max(x), or a soft choice, tf.nn.softmax(x)",
)  # fmt: skip
def _arg_max(input, *, axis, output_type):
    return lax.argmax(_without_nan(input, -jnp.inf), axis, output_type)


@op(
    "ArgMin", infer=_arg_rule, flops=flops.reduction,
    instead="try the values, tf.reduce_min(x), or a soft choice, tf.nn.softmax(-x)",
)  # fmt: skip
def _arg_min(input, *, axis, output_type):
    return lax.argmin(_without_nan(input, jnp.inf), axis, output_type)


not_differentiable(_arg_max, _arg_min, because="an index is an integer; gather or reduce_max carry gradients to the element")


def _arg(function, input, axis, output_type):
    x = tensor(input)
    if isinstance(axis, (list, tuple)):
        raise TypeError(f"axis must be int or Tensor with integer datatype, received {axis}.")
    axis = 0 if axis is None else static(axis, "axis")
    if not -x.ndim <= axis < x.ndim:
        raise invalid_for(
            function.op.type,
            f"Expected dimension in the range [{-x.ndim}, {x.ndim}), but got {axis}\naxis must be one of the axes of shape "
            f"{plain(extents_of(x))}.",
        )
    return function(x, axis=axis % x.ndim, output_type=output_type)


@public
def argmax(input, axis=None, output_type=dtypes.int64, name=None) -> Tensor:
    """Return the index of the largest element along `axis` (0 by default), the first of equals; NaN is ignored.

    The result has the shape of `input` without `axis`. Real dtypes and bool; `output_type` is int16, uint16, int32 or int64.
    InvalidArgumentError if the axis is empty.

    >>> tf.argmax([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]], axis=1).numpy()
    array([1, 0])
    """
    return _arg(_arg_max, input, axis, named_dtype(output_type or dtypes.int64, ("int16", "uint16", *INDEX), "output_type"))


@public
def argmin(input, axis=None, output_type=dtypes.int64, name=None) -> Tensor:
    """Return the index of the smallest element along `axis` (0 by default), the first of equals; NaN is ignored.

    Real dtypes and bool; `output_type` is int32 or int64. InvalidArgumentError if the axis is empty.

    >>> tf.argmin([[1.0, 5.0, 2.0], [7.0, 0.0, 3.0]], axis=1).numpy()
    array([0, 1])
    """
    return _arg(_arg_min, input, axis, named_dtype(output_type or dtypes.int64, INDEX, "output_type"))


def _bound_rule(sorted_inputs, values, out_type):
    if sorted_inputs.shape[0] != values.shape[0]:
        raise invalid(
            f"Leading dim_size of both tensors must match. Received {sorted_inputs.shape[0]} sorted rows and {values.shape[0]} "
            "rows of values: all extents but the last must agree."
        )
    return aval(values.shape, out_type)


def _bound(sorted_inputs, values, goes_right, out_type):
    """Search in each sorted row by bisection: return how many of its elements come before each value."""
    count = sorted_inputs.shape[1]

    def halve(_, bounds):
        low, high = bounds
        middle = (low + high) // 2
        element = jnp.take_along_axis(sorted_inputs, jnp.minimum(middle, count - 1), axis=1, mode="promise_in_bounds")
        right = goes_right(element, values)
        searching = low < high
        return jnp.where(searching & right, middle + 1, low), jnp.where(searching & ~right, middle, high)

    low = jnp.zeros(values.shape, dtype=jnp.int32)
    if not count:
        return low.astype(out_type)
    return lax.fori_loop(0, count.bit_length(), halve, (low, jnp.full_like(low, count)))[0].astype(out_type)


PLACED = "interpolate between the places on both sides: `y0 + (u - x0) / (x1 - x0) * (y1 - y0)`"


@op("LowerBound", infer=_bound_rule, instead=PLACED)
def _lower_bound(sorted_inputs, values, *, out_type):
    return _bound(sorted_inputs, values, lambda element, value: element < value, out_type)


@op("UpperBound", infer=_bound_rule, instead=PLACED)
def _upper_bound(sorted_inputs, values, *, out_type):
    return _bound(sorted_inputs, values, lambda element, value: ~(value < element), out_type)


not_differentiable(_lower_bound, _upper_bound, because="the place of a value in a sorted row is an integer", unregistered=True)


@public
def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None) -> Tensor:
    """Return the indices at which to insert `values` into `sorted_sequence`, sorted along its last axis, so that it stays
    sorted.

    "left": before equal elements, "right": behind them. All extents but the last must agree; the result has the shape
    of `values` and type `out_type`, int32 (also for None) or int64.

    >>> tf.searchsorted([1.0, 3.0, 5.0], [2.0, 5.0]).numpy()
    array([1, 2], dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"Argument `side` must be either 'right' or 'left'. Received: `side` = '{side}'.")
    rows = tensor(sorted_sequence)
    wanted = tensor(values)
    for x, what in ((rows, "sorted_sequence"), (wanted, "values")):
        if not x.ndim:
            raise invalid(f"slice index -1 of dimension 0 out of bounds: {what} is a scalar; give it a last axis.")
    function = _lower_bound if side == "left" else _upper_bound
    out_type = named_dtype(out_type or dtypes.int32, INDEX, "out_type")
    flat = [reshape(x, (prod(extents_of(x)[:-1]), extents_of(x)[-1])) for x in (rows, wanted)]
    return reshape(function(*flat, out_type=out_type), extents_of(wanted))


def _no_permutation(x):
    needed = f"each of the indices 0 to {x.size - 1} must stand there once."
    outside = (x < 0) | (x >= x.size)
    yield outside, lambda: f"{x[outside][0]} is not between 0 and {x.size}: {needed}"
    ordered = jnp.sort(x)
    again = ordered[1:] == ordered[:-1]
    yield again, lambda: f"{ordered[1:][again][0]} is duplicated in the input: {needed}"


def _permutation_rule(x):
    require(x, INDEX)
    if x.ndim != 1:
        raise invalid(f"invert_permutation expects a 1D vector, received shape {plain(x.shape)}.")
    return x


@op(
    "InvertPermutation", infer=_permutation_rule, refuses=_no_permutation,
    prefers="int32", flops=0,
)  # fmt: skip
def invert_permutation(x):
    """Return the inverse of the permutation `x`, a vector (int32 or int64) of the indices 0 to n-1; else InvalidArgumentError.

    >>> tf.math.invert_permutation([2, 0, 1]).numpy()
    array([1, 2, 0], dtype=int32)
    """
    return at(jnp.zeros_like(x))[x].set(lax.iota(x.dtype, x.size), unique_indices=True, mode="promise_in_bounds")


not_differentiable(invert_permutation, because="a permutation holds integers")
