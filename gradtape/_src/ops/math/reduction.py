"""Reductions over axes: sums, means, products, extrema, logic, norms, moments.

A reduction's `axis` is None (all axes), an int or several. A tensor as `axis` is evaluated. Negative axes count from the last.
`keepdims` keeps the reduced axes with extent 1. An axis out of range or named twice is an InvalidArgumentError.
"""

import functools
from math import prod

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.engine.engine import tracing
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, emit
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.core.values.dim import Dim
from gradtape._src.ops import flops
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import _broadcast_to, _reshape, _transpose, inverse, ones, stop_gradient, zeros
from gradtape._src.ops.floats import mean_over, wide
from gradtape._src.ops.math.arithmetic import sqrt, square
from gradtape._src.ops.math.compare import equal, is_finite, not_equal
from gradtape._src.ops.math.complex import conj, real
from gradtape._src.ops.math.cumulative import product_of_others
from gradtape._src.ops.math.elementary import exp
from gradtape._src.ops.shapes import BOOL, FLOATING, NUMERIC, REAL, axes_of, only

# ---------------------------------------------------------------------------------------------------------------------
# Shapes and axes


def reduced(shape, axis, keepdims):
    """Return the shape of a reduction of `shape` over `axis` (a tuple of axes ≥ 0)."""
    if keepdims:
        return kept(shape, axis)
    return tuple([n for a, n in enumerate(shape) if a not in axis])


def kept(shape, axis):
    """Return `shape` with extent 1 at each axis in `axis`."""
    return tuple([1 if a in axis else n for a, n in enumerate(shape)])


def _like_input(input, axis, keepdims):
    return aval(reduced(input.shape, axis, keepdims), input.dtype)


@functools.lru_cache(maxsize=1024)
def _axes(axis, rank):
    return axes_of(axis, rank)


def reduction_axes(axis, rank):
    """Convert the user's `axis` to a sorted tuple of axes ≥ 0."""
    if axis is None or type(axis) is int:
        return _axes(axis, rank)
    if isinstance(axis, float):
        raise convert.not_an_integer(axis, "axis")
    if isinstance(axis, (list, tuple)) and any(isinstance(a, (list, tuple)) for a in axis):
        if tracing():
            raise invalid(f"Shape must be at most rank 1 but is rank 2: the axes of a reduction are one list, received {axis}.")
        axis = np.array(axis)  # eager calls accept an array of any rank
    return _axes(convert.static_list(axis, "axis"), rank)


def _reduce(function, input_tensor, axis, keepdims):
    node = convert.node_of(input_tensor)
    return emit(function.op, (node,), (reduction_axes(axis, node.aval.ndim), bool(keepdims)))


def restored(x, shape, axis):
    """Reshape the result `x` of a reduction of `shape` over `axis` to the original rank, with extent 1 along reduced axes."""
    shape = kept(shape, axis)
    return x if x.node.aval.shape == shape else _reshape(x, shape=shape)


def spread(dy, shape, axis):
    """Return the cotangent of a sum over `axis` of a tensor of `shape`: a structural broadcast of `dy` along these axes."""
    if 0 < dy.node.aval.ndim < len(shape):
        dy = restored(dy, shape, axis)
    have = dy.node.aval.shape
    alike = len(have) == len(shape) and all(
        m is n or (type(m) is type(n) is int and m == n) for m, n in zip(have, shape, strict=True)
    )
    return dy if alike else _broadcast_to(dy, shape=shape)


def divisor(count):
    """Return the divisor of a mean of `count` elements: at least 1, as a mean over an empty axis needs no exact value."""
    return count if type(count) is Dim else max(count, 1)


# ---------------------------------------------------------------------------------------------------------------------
# Sums and means


@op("Sum", infer=only(NUMERIC, _like_input), flops=flops.reduction, traits="linear", folds=np.sum)
def _sum(input, *, axis, keepdims):
    widened = wide(input)
    return jnp.sum(widened, axis=axis, keepdims=keepdims, dtype=widened.dtype).astype(input.dtype)


@gradient(_sum)
def _(dy, input, *, axis):
    return spread(dy, input.node.aval.shape, axis)


@public
def reduce_sum(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return the sum of the elements over `axis`. Any numeric dtype, which is kept; 16-bit floats are summed in float32.

    `axis` is an int, a list, or None for all axes; `keepdims` keeps the reduced axes with extent 1. InvalidArgumentError
    for an axis out of range, or a repeated one.

    >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    >>> float(tf.reduce_sum(x))
    10.0
    >>> tf.reduce_sum(x, axis=1, keepdims=True).numpy().tolist()
    [[3.0], [7.0]]
    """
    return _reduce(_sum, input_tensor, axis, keepdims)


@op("Mean", infer=only(NUMERIC, _like_input), flops=flops.of_input(1), traits="linear")
def _mean(input, *, axis, keepdims):
    if input.dtype.kind in "iu":  # rounded towards 0
        count = prod([input.shape[a] for a in axis])
        longest = jnp.uint64 if input.dtype.kind == "u" else jnp.int64
        total = jnp.sum(input, axis=axis, keepdims=keepdims, dtype=longest)
        return lax.div(total, lax.full_like(total, max(count, 1))).astype(input.dtype)
    return mean_over(wide(input), axis, keepdims).astype(input.dtype)


@gradient(_mean)
def _(dy, input, *, axis):
    shape = input.node.aval.shape
    return spread(dy / divisor(prod([shape[a] for a in axis])), shape, axis)


@public
def reduce_mean(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return the mean of the elements over `axis`. Any numeric dtype, which is kept; integers are rounded towards 0. NaN over
    an empty axis.

    `axis` and `keepdims` are those of `tf.reduce_sum`.

    >>> tf.reduce_mean([[1.0, 5.0], [7.0, 3.0]], axis=0).numpy()
    array([4., 4.], dtype=float32)
    """
    return _reduce(_mean, input_tensor, axis, keepdims)


# ---------------------------------------------------------------------------------------------------------------------
# Products


@op("Prod", infer=only(NUMERIC, _like_input), saves="input", flops=flops.reduction, folds=np.prod)
def _prod(input, *, axis, keepdims):
    widened = wide(input)
    return jnp.prod(widened, axis=axis, keepdims=keepdims, dtype=widened.dtype).astype(input.dtype)


@gradient(_prod)
def _(dy, input, *, axis):  # dxᵢ = dy · Π_{j≠i} xⱼ, without dividing: exact where elements are 0
    shape = input.node.aval.shape
    return restored(dy, shape, axis) * conj(_others(input, shape, axis))


def _others(x, shape, axis):
    """Return at each element the product of all others along `axis`, on Tensors."""
    if not axis:
        return ones(shape, x.dtype)
    if len(axis) == 1:
        return product_of_others(x, axis[0])
    if len(axis) == len(shape):
        return _reshape(product_of_others(_reshape(x, shape=(prod(shape),)), 0), shape=shape)
    order = (*[a for a in range(len(shape)) if a not in axis], *axis)
    moved = _transpose(x, perm=order)
    there = moved.node.aval.shape
    rows = _reshape(moved, shape=(*there[: -len(axis)], prod(there[-len(axis) :])))
    others = _reshape(product_of_others(rows, rows.ndim - 1), shape=there)
    return _transpose(others, perm=inverse(order))


@public
def reduce_prod(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return the product of the elements over `axis`. Any numeric dtype. The gradients are exact where elements are 0.

    `axis` and `keepdims` are those of `tf.reduce_sum`.

    >>> float(tf.reduce_prod([2.0, 3.0, 4.0]))
    24.0
    """
    return _reduce(_prod, input_tensor, axis, keepdims)


# ---------------------------------------------------------------------------------------------------------------------
# Extrema


@op("Max", infer=only(REAL, _like_input), saves="input", flops=flops.reduction)
def _max(input, *, axis, keepdims):
    return lax.reduce_max(input, axis).reshape(reduced(input.shape, axis, keepdims))


@op("Min", infer=only(REAL, _like_input), saves="input", flops=flops.reduction)
def _min(input, *, axis, keepdims):
    return lax.reduce_min(input, axis).reshape(reduced(input.shape, axis, keepdims))


def _extremum_gradient(extremum):
    def rule(dy, input, *, axis):
        """Share `dy` equally among the elements equal to the extremum; others get it times 0, so that NaN spreads to all.

        The extremum is computed again, as the input may be. In another program its last bits differ, and no element would equal
        the extremum that the forward pass found.
        """
        chosen = cast(equal(input, extremum(input, axis=axis, keepdims=True)), input.dtype)
        return chosen * (restored(dy, input.node.aval.shape, axis) / _sum(chosen, axis=axis, keepdims=True))

    return rule


gradient(_max)(_extremum_gradient(_max))
gradient(_min)(_extremum_gradient(_min))


@public
def reduce_max(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return the largest element over `axis`; NaN if one is NaN. Over an empty axis: -inf, or the least integer.

    Real dtypes. The gradient is split evenly between elements that are equal to the maximum.

    >>> tf.reduce_max([[1.0, 5.0], [7.0, 3.0]], axis=1).numpy()
    array([5., 7.], dtype=float32)
    """
    return _reduce(_max, input_tensor, axis, keepdims)


@public
def reduce_min(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return the smallest element over `axis`; NaN if one is NaN. Over an empty axis: inf, or the largest integer.

    Real dtypes. The gradient is split evenly between elements that are equal to the minimum.

    >>> tf.reduce_min([[1.0, 5.0], [7.0, 3.0]], axis=1).numpy()
    array([1., 3.], dtype=float32)
    """
    return _reduce(_min, input_tensor, axis, keepdims)


# ---------------------------------------------------------------------------------------------------------------------
# Logic and counts


@op("Any", infer=only(("bool",), _like_input))
def _any(input, *, axis, keepdims):
    return jnp.any(input, axis=axis, keepdims=keepdims)


@op("All", infer=only(("bool",), _like_input))
def _all(input, *, axis, keepdims):
    return jnp.all(input, axis=axis, keepdims=keepdims)


not_differentiable(_any, _all, because="it takes and gives bools")


def _reduce_bool(function, input_tensor, axis, keepdims):
    node = convert.node_of(input_tensor, BOOL)
    if node.aval.dtype != BOOL:
        raise convert.mismatch(function.op, 0, BOOL, node.aval.dtype)
    return emit(function.op, (node,), (reduction_axes(axis, node.aval.ndim), bool(keepdims)))


@public
def reduce_any(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return whether any element over `axis` is True. bool.

    `axis` and `keepdims` are those of `tf.reduce_sum`.

    >>> tf.reduce_any([[True, False], [False, False]], axis=1).numpy()
    array([ True, False])
    """
    return _reduce_bool(_any, input_tensor, axis, keepdims)


@public
def reduce_all(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return whether all elements over `axis` are True. bool.

    `axis` and `keepdims` are those of `tf.reduce_sum`.

    >>> bool(tf.reduce_all([True, False]))
    False
    """
    return _reduce_bool(_all, input_tensor, axis, keepdims)


@public
def count_nonzero(input, axis=None, keepdims=None, dtype=dtypes.int64, name=None) -> Tensor:
    """Count the elements over `axis` that are not 0 (or are True), in `dtype`. NaN counts.

    >>> int(tf.math.count_nonzero([[0.0, 1.0], [2.0, 0.0]]))
    2
    """
    x = tensor(input)
    nonzero = x if x.dtype.is_bool else not_equal(x, zeros((), x.dtype))
    return cast(reduce_sum(cast(nonzero, dtypes.int64), axis, keepdims), dtype)


@public
def zero_fraction(value, name=None) -> Tensor:
    """Return the fraction of elements that are 0, a float32 scalar. NaN for an empty tensor.

    >>> float(tf.math.zero_fraction([0.0, 1.0, 0.0, 2.0]))
    0.5
    """
    x = tensor(value)
    zeros = x.node.aval.size - count_nonzero(x)
    return cast(zeros, dtypes.float32) / x.node.aval.size


# ---------------------------------------------------------------------------------------------------------------------
# Logarithms of sums, norms, moments


@op("LogSumExp", infer=only(FLOATING, _like_input), saves="input", flops=flops.of_input(4), traits="own")
def _log_sum_exp(input, *, axis, keepdims):
    widened = wide(input)
    top = lax.expand_dims(lax.reduce_max(widened, axis), axis)
    top = jnp.where(jnp.isfinite(top), top, jnp.zeros_like(top))
    total = jnp.sum(jnp.exp(widened - top), axis=axis, keepdims=True, dtype=widened.dtype)
    y = jnp.log(total) + top
    return y.reshape(reduced(input.shape, axis, keepdims)).astype(input.dtype)


@gradient(_log_sum_exp)
def _(dy, input, *, axis):  # dx = dy · exp(x) / Σ exp(x), both exponentials less the maximum, which cancels
    shape = input.node.aval.shape
    top = stop_gradient(_max(input, axis=axis, keepdims=True))
    e = exp(input - where(is_finite(top), top, zeros((), input.dtype)))
    return e * (restored(dy, shape, axis) / _sum(e, axis=axis, keepdims=True))


@public
def reduce_logsumexp(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return `log(Σ exp(x))` over `axis`, without overflow. Floating dtypes. It is -inf over an empty axis, and if all elements
    are -inf.

    `axis` and `keepdims` are those of `tf.reduce_sum`.

    >>> float(tf.reduce_logsumexp([1000.0, -1000.0]))
    1000.0
    """
    return _reduce(_log_sum_exp, input_tensor, axis, keepdims)


@op(
    "EuclideanNorm", infer=only(NUMERIC, _like_input), saves="input y", flops=flops.of_input(2),
    at_edge="add a small number before the root: `tf.sqrt(tf.reduce_sum(tf.square(x)) + 1e-12)`",
)  # fmt: skip
def _euclidean_norm(input, *, axis, keepdims):
    widened = input.astype(jnp.float64) if input.dtype.kind in "iu" else wide(input)
    total = jnp.sum(widened * jnp.conj(widened), axis=axis, keepdims=keepdims, dtype=widened.dtype)
    return jnp.sqrt(total).astype(input.dtype)


@gradient(_euclidean_norm)
def _(dy, input, y, *, axis):  # dx = Re(dy) · x / ‖x‖, as the norm is real even where its dtype is not
    if input.dtype.is_complex:
        dy = (dy + conj(dy)) / 2.0
    shape = input.node.aval.shape
    return input * restored(dy / y, shape, axis)


@public
def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return `√Σ|x|²` over `axis`, in the dtype of the input: complex for complex input, rounded down for integers.

    The gradient is NaN where the norm is 0.

    >>> float(tf.math.reduce_euclidean_norm([3.0, 4.0]))
    5.0
    """
    return _reduce(_euclidean_norm, input_tensor, axis, keepdims)


@op("L2Loss", infer=only(FLOATING, lambda t: aval((), t.dtype)), saves="t", flops=flops.of_input(2))
def l2_loss(t):
    """Return Σ t² / 2, a scalar. Floating.

    >>> float(tf.nn.l2_loss([3.0, 4.0]))
    12.5
    """
    x = wide(t)
    return (jnp.sum(x * x) / 2).astype(t.dtype)


@gradient(l2_loss)
def _(dy, t):
    return t * dy


@public
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return the variance over `axis`, the mean of `|x - mean(x)|²`, without Bessel's correction.

    Floating dtypes; for complex ones the result is real. Integers are a TypeError.

    >>> float(tf.math.reduce_variance([1.0, 5.0]))
    4.0
    """
    x = tensor(input_tensor)
    difference = x - reduce_mean(x, axis, keepdims=True)
    if x.dtype.is_integer:
        raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype}. Use tf.cast.")
    if x.dtype.is_complex:
        squares = real(difference * conj(difference))
    else:
        squares = square(difference)
    return reduce_mean(squares, axis, keepdims)


@public
def reduce_std(input_tensor, axis=None, keepdims=False, name=None) -> Tensor:
    """Return the square root of `reduce_variance`. Floating dtypes; for complex ones the result is real.

    >>> float(tf.math.reduce_std([1.0, 3.0]))
    1.0
    """
    return sqrt(reduce_variance(input_tensor, axis, keepdims))
