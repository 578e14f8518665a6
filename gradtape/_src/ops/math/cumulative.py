"""Running sums, products and log-sum-exps along an axis, and the linear recurrence behind their gradients.

`axis` is an int (or a tensor of one); `exclusive` leaves each element out of its own result; `reverse` runs from the end.
"""

import numpy as np

from gradtape._src.core.base.errors import invalid, invalid_for
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors import convert
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor, emit
from gradtape._src.ops import flops
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import zeros
from gradtape._src.ops.floats import wide
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.elementary import exp
from gradtape._src.ops.shapes import FLOATING, NUMERIC, only, same


def _scan(function, x, axis, exclusive, reverse):
    """Record a scan along the axis that a user gave."""
    node = convert.node_of(x)
    for flag, what in ((exclusive, "exclusive"), (reverse, "reverse")):
        if type(flag) is not bool:
            raise TypeError(f"Expected bool for argument '{what}' not {flag}.")
    if isinstance(axis, (list, tuple)):
        raise invalid(f"ScanOp: axis must be a scalar, not a list: received {axis}.")
    axis, rank = static(axis, "axis"), node.aval.ndim
    if not -rank <= axis < rank:
        raise invalid_for(function.op.type, f"ScanOp: Expected scan axis in the range [{-rank}, {rank}), but got {axis}")
    return emit(function.op, (node,), (axis % rank, bool(exclusive), bool(reverse)))


def _moved(x, axis, reverse, fill):
    """Return `x` moved one position along `axis` (towards its start if `reverse`), with `fill` in the free position."""
    edges = [(0, 0, 0)] * x.ndim
    if x.shape[axis]:
        edges[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
    return lax.pad(x, jnp.array(fill, x.dtype), edges)


# ---------------------------------------------------------------------------------------------------------------------
# The ops of their gradients


@op("Shift", infer=same, cheap=True, flops=0, traits="own")
def shift(x, *, axis, reverse):
    """Return `yₜ = xₜ₋₁` along `axis` (`xₜ₊₁` if `reverse`), and 0 at the free end."""
    return _moved(x, axis, reverse, 0)


@gradient(shift)
def _(dy, *, axis, reverse):
    return shift(dy, axis=axis, reverse=not reverse)


def _recurrence_rule(a, b, axis, reverse):
    if a.shape != b.shape:
        raise invalid(f"a linear recurrence needs factors and terms of one shape, received {list(a.shape)} and {list(b.shape)}.")
    return b


@op("LinearRecurrence", unhosted="it loops", infer=_recurrence_rule, saves="a y", traits="own")
def linear_recurrence(a, b, *, axis, reverse):
    """Return `hₜ = aₜ·hₜ₋₁ + bₜ` along `axis` from 0, or from the end (`hₜ₊₁`) if `reverse`. Shapes and dtypes are equal."""

    def after(first, second):
        return first[0] * second[0], first[1] * second[0] + second[1]

    return lax.associative_scan(after, (a, b), reverse=reverse, axis=axis)[1]


@gradient(linear_recurrence)
def _(dy, a, y, needs_a, needs_b, *, axis, reverse):  # db is the recurrence run backwards, da = db · conj(h) of the step before
    following = shift(conj(a), axis=axis, reverse=not reverse)
    db = linear_recurrence(following, dy, axis=axis, reverse=not reverse)
    return db * conj(shift(y, axis=axis, reverse=reverse)) if needs_a else None, db if needs_b else None


# ---------------------------------------------------------------------------------------------------------------------
# Sums


@op("Cumsum", infer=only(NUMERIC, same), flops=flops.by_rows(1, 1))
def _cumsum(x, *, axis, exclusive, reverse):
    x = lax.optimization_barrier(x)  # hides a constant cotangent from XLA, which would take long to fold its scan
    y = lax.cumsum(wide(x), axis, reverse).astype(x.dtype)
    return _moved(y, axis, reverse, 0) if exclusive else y


@gradient(_cumsum)
def _(dy, *, axis, exclusive, reverse):
    return _cumsum(dy, axis=axis, exclusive=exclusive, reverse=not reverse)


@public
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None) -> Tensor:
    """Return the running sum of `x` along `axis`. Any numeric dtype; shape and dtype of `x`.

    `[a, a+b, a+b+c]`; with `exclusive` `[0, a, a+b]`; with `reverse` from the end. An axis out of range is an
    InvalidArgumentError.

    >>> tf.cumsum([1.0, 2.0, 3.0]).numpy()
    array([1., 3., 6.], dtype=float32)
    >>> tf.cumsum([1.0, 2.0, 3.0], exclusive=True).numpy()
    array([0., 1., 3.], dtype=float32)
    """
    return _scan(_cumsum, x, axis, exclusive, reverse)


# ---------------------------------------------------------------------------------------------------------------------
# Products


@op("Cumprod", infer=only(NUMERIC, same), saves="x", flops=flops.by_rows(1, 1))
def _cumprod(x, *, axis, exclusive, reverse):
    y = lax.cumprod(wide(x), axis, reverse).astype(x.dtype)
    return _moved(y, axis, reverse, 1) if exclusive else y


@gradient(_cumprod)
def _(dy, x, *, axis, exclusive, reverse):
    # dxᵢ = Σ_{k≥i} dy_k · Π_{j≤k, j≠i} x_j = (Π_{j<i} x_j) · sᵢ with sᵢ = dyᵢ + xᵢ₊₁·sᵢ₊₁: no division, so that
    # zeros are exact. Exclusive: yₖ lacks x_k, so dyᵢ₊₁ replaces dyᵢ.
    x = conj(x)
    if exclusive:
        dy = shift(dy, axis=axis, reverse=not reverse)
    following = shift(x, axis=axis, reverse=not reverse)
    s = linear_recurrence(following, dy, axis=axis, reverse=not reverse)
    return _cumprod(x, axis=axis, exclusive=True, reverse=reverse) * s


@public
def cumprod(x, axis=0, exclusive=False, reverse=False, name=None) -> Tensor:
    """Return the running product of `x` along `axis`. Any numeric dtype; shape and dtype of `x`.

    `[a, a·b, a·b·c]`; with `exclusive` `[1, a, a·b]`; with `reverse` from the end. The gradients are exact where
    elements are 0. An axis out of range is an InvalidArgumentError.

    >>> tf.math.cumprod([1.0, 2.0, 3.0]).numpy()
    array([1., 2., 6.], dtype=float32)
    """
    return _scan(_cumprod, x, axis, exclusive, reverse)


def product_of_others(x, axis):
    """Return at each element of the Tensor `x` the product of all others along `axis` (an int ≥ 0)."""
    before = _cumprod(x, axis=axis, exclusive=True, reverse=False)
    return before * _cumprod(x, axis=axis, exclusive=True, reverse=True)


# ---------------------------------------------------------------------------------------------------------------------
# Logarithms of sums of exponentials


@op("CumulativeLogsumexp", infer=only(FLOATING, same), saves="x y")
def _cumulative_logsumexp(x, *, axis, exclusive, reverse):
    y = lax.cumlogsumexp(wide(x), axis, reverse).astype(x.dtype)
    return _moved(y, axis, reverse, -jnp.inf) if exclusive else y


@gradient(_cumulative_logsumexp)
def _(dy, x, y, *, axis, exclusive, reverse):
    # dxᵢ = Σ_{k≥i} dy_k · exp(xᵢ − y_k) = exp(xᵢ − yᵢ) · rᵢ with rᵢ = dyᵢ + exp(yᵢ − yᵢ₊₁)·rᵢ₊₁: y does not fall, so
    # that no exponential exceeds 1.
    if exclusive:
        y = _cumulative_logsumexp(x, axis=axis, exclusive=False, reverse=reverse)
        dy = shift(dy, axis=axis, reverse=not reverse)
    step = y - shift(y, axis=axis, reverse=not reverse)
    falling = exp(where(_has_next(x.node.aval.shape, axis, reverse), step, zeros((), x.dtype)))
    return exp(x - y) * linear_recurrence(falling, dy, axis=axis, reverse=not reverse)


def _has_next(shape, axis, reverse):
    """Return a bool tensor, True but at the end of `axis` (its start if `reverse`); its other extents are 1."""
    extent = shape[axis]
    present = np.arange(extent) != (0 if reverse else extent - 1)
    return tensor(present.reshape([extent if a == axis else 1 for a in range(len(shape))]))


@public
def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None) -> Tensor:
    """Return the running `log(Σ exp(x))` along `axis`, without overflow. Floating dtypes; shape and dtype of `x`.

    With `exclusive` the first element is -inf; with `reverse` the scan runs from the end. An axis out of range is an
    InvalidArgumentError.

    >>> tf.math.cumulative_logsumexp([0.0, 0.0, 0.0]).numpy().round(4)
    array([0.    , 0.6931, 1.0986], dtype=float32)
    """
    return _scan(_cumulative_logsumexp, x, axis, exclusive, reverse)
