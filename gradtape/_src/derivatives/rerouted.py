"""Ops that are the identity in the forward pass and change the gradient: factors, reversal, straight-through."""

from __future__ import annotations

from typing import Any

from gradtape._src.autodiff.backward import Operation
from gradtape._src.core.base.public import public
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, emit, extents_of
from gradtape._src.ops.array.shape import reshape, stop_gradient


def _scaled_gradient(op: Operation, dy: Tensor) -> list[Any]:
    return [dy * op.inputs[1], None]


def _straight(op: Operation, dy: Tensor) -> list[Any]:
    return [None, dy]


SCALED = define(
    Op(
        "ScaledGradient", lambda x, factors: x, infer=lambda x, factors: x, saves="factors", cheap=True,
        gradient=_scaled_gradient, traits="own renames",
    )
)  # fmt: skip
STRAIGHT_THROUGH = define(
    Op(
        "StraightThrough",
        lambda value, x: value,
        infer=lambda value, x: value,
        cheap=True,
        gradient=_straight,
        traits="own renames",
    )
)  # fmt: skip


@public
def gradient_factors(x: Any, factors: Any) -> Tensor:
    """Return `x` itself, whose gradient is multiplied by `factors`: row i of it by `factors[i]`, or all by a scalar.

    Put around per-example losses, or any tensor of shape [examples, …], it weights what each example adds to the
    gradients, and changes no value. No gradient reaches `factors`. ValueError where the rows are not as many as the
    factors.

    >>> x = tf.Variable([1.0, 2.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.autodiff.gradient_factors(x * x, [1.0, 0.5])
    >>> y.numpy().tolist(), tape.gradient(y, x).numpy().tolist()
    ([1.0, 4.0], [2.0, 2.0])
    """
    x = tensor(x)
    factors = stop_gradient(tensor(factors, x.dtype))
    if factors.ndim > 1 or (factors.ndim == 1 and (not x.ndim or extents_of(factors)[0] != extents_of(x)[0])):
        raise ValueError(
            f"factors must be a scalar or one number for each row of x (shape {x.shape}); received shape {factors.shape}."
        )
    if factors.ndim == 1:
        factors = reshape(factors, [extents_of(factors)[0], *[1] * (x.ndim - 1)])
    result: Tensor = emit(SCALED, (x.node, factors.node))
    return result


@public
def reverse_gradient(x: Any, factor: Any = 1.0) -> Tensor:
    """Return `x` itself, whose gradient is multiplied by −`factor`.

    The layers before it are trained against the layers behind it: Ganin and Lempitsky, "Unsupervised domain adaptation by
    backpropagation" (2015), section 3.2.

    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.autodiff.reverse_gradient(x * x, 0.5)
    >>> float(y), float(tape.gradient(y, x))
    (9.0, -3.0)
    """
    x = tensor(x)
    return gradient_factors(x, -tensor(factor, x.dtype))


@public
def straight_through(value: Any, x: Any) -> Tensor:
    """Return `value`, whose gradient goes to `x` unchanged: an op without derivative is trained as if it were `x`.

    Both have one shape and dtype, else ValueError. Bengio, Léonard and Courville, "Estimating or propagating gradients
    through stochastic neurons" (2013), section 4.

    >>> x = tf.Variable([0.4, 1.6])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.autodiff.straight_through(tf.round(x), x)
    >>> y.numpy().tolist(), tape.gradient(y, x).numpy().tolist()
    ([0.0, 2.0], [1.0, 1.0])
    """
    value, x = tensor(value), tensor(x)
    if extents_of(value) != extents_of(x) or value.dtype != x.dtype:
        raise ValueError(
            f"value is {value.dtype.name} of shape {value.shape}, and x is {x.dtype.name} of shape {x.shape}: they must "
            "agree, as the gradient of the one is that of the other."
        )
    result: Tensor = emit(STRAIGHT_THROUGH, (value.node, x.node))
    return result
