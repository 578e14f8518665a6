"""Exponentials, logarithms, powers, and the trigonometric and hyperbolic functions with their inverses."""

import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import is_tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, emit
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.shape import under_broadcast
from gradtape._src.ops.math.arithmetic import masked, reciprocal, rsqrt, square
from gradtape._src.ops.math.compare import greater, logical_not, not_equal
from gradtape._src.ops.math.complex import conj, elementwise
from gradtape._src.ops.shapes import COMPLEX, FLOATING, SIGNED, broadcast, only, same

_INEXACT = only(FLOATING + COMPLEX, same)

# ---------------------------------------------------------------------------------------------------------------------
# Exponentials and logarithms


@elementwise("Exp", slope=lambda y: y, infer=_INEXACT, flops=1, at_edge="use tf.reduce_logsumexp or tf.nn.log_softmax")
def exp(x):
    """Return `eˣ`, element-wise. Float or complex.

    >>> tf.exp([0.0, 1.0]).numpy().round(4)
    array([1.    , 2.7183], dtype=float32)
    """
    return jnp.exp(x)


@elementwise("Expm1", slope=lambda x: exp(x), infer=_INEXACT, flops=1)
def expm1(x):
    """Return `eˣ - 1`, element-wise, exact for small `x`. Float or complex.

    >>> tf.math.expm1([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.7183], dtype=float32)
    """
    return jnp.expm1(x)


@elementwise("Log", slope=lambda x: reciprocal(x), infer=_INEXACT, flops=1)
def log(x):
    """Return the natural logarithm of `x`, element-wise: NaN below 0. Float or complex.

    >>> tf.math.log([1.0, 10.0]).numpy().round(4)
    array([0.    , 2.3026], dtype=float32)
    """
    return jnp.log(x)


@elementwise("Log1p", slope=lambda x: reciprocal(1.0 + x), infer=_INEXACT, flops=1)
def log1p(x):
    """Return `log(1 + x)`, element-wise, exact for small `x`. Float or complex.

    >>> tf.math.log1p([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.6931], dtype=float32)
    """
    return jnp.log1p(x)


# ---------------------------------------------------------------------------------------------------------------------
# Powers

NEGATIVE_POWER = "Integers to negative integer powers are not allowed\nBring the base to a floating type with tf.cast."


def _powered(x, y, exponent):
    if exponent is not None and exponent < 0 and x.dtype.kind == "i":
        raise invalid(NEGATIVE_POWER)
    return broadcast(x, y)


def _may_be_negative(x, y, exponent):
    return exponent is None and x.dtype.kind == "i"


@op(
    "Pow", infer=only(FLOATING + SIGNED + COMPLEX, _powered), broadcasting=True, saves="x y z",
    refuses=lambda y: [(y < 0, NEGATIVE_POWER)], when=_may_be_negative, flops=1, operator="pow",
)  # fmt: skip
def _pow(x, y, *, exponent=None):
    """Raise `x` to the power `y`. `exponent` is the value of `y` if it is one of `_STRUCTURAL`, else None."""
    if exponent is None:
        return _integer_power(x, y) if x.dtype.kind == "i" else jnp.power(x, y)
    if exponent == int(exponent):
        return lax.integer_pow(x, int(exponent)) if exponent else jnp.ones_like(x)
    return lax.pow(x, jnp.full(x.shape, exponent, x.dtype))


def _integer_power(x, y):
    """Compute an integer power by repeated squaring up to the largest exponent; `jnp.power` reads only six bits of it."""

    def step(carried):
        result, square, left = carried
        return jnp.where(left % 2 == 1, result * square, result), square * square, left // 2

    x, y = jnp.broadcast_arrays(x, y)
    return lax.while_loop(lambda carried: (carried[2] > 0).any(), step, (jnp.ones_like(x), x, y))[0]


@gradient(_pow)
def _(dz, x, y, z, needs_x, needs_y, *, exponent):
    dx = dy = None
    if needs_x and exponent is None:
        dx = dz * conj(y) * conj(pow(x, y - 1.0))
    elif needs_x:
        dx = _power_rule(x, exponent, dz)
    if needs_y:
        positive = not_equal(x, 0) if x.dtype.is_complex else greater(x, 0)
        base = masked(x, positive) + cast(logical_not(positive), x.dtype)
        dy = dz * conj(z) * conj(log(base))  # in this order: z · log x may overflow where dz is small
    return dx, dy


def _power_rule(x, exponent, dy):
    """Return dy · conj(e·xᵉ⁻¹), with the derivative 0 of x⁰ at 0. It is a power of x, so higher orders are 0 and not None."""
    return under_broadcast(lambda dy: dy * exponent, dy) * conj(pow(x, exponent - 1 if exponent else 0))


@public
def pow(x, y, name=None) -> Tensor:
    """Return `xʸ`, element-wise, with broadcasting. Float, complex or signed integer.

    A negative power of integers is an InvalidArgumentError.

    >>> tf.pow([2.0, 3.0], 2.0).numpy()
    array([4., 9.], dtype=float32)
    """
    exponent = None
    if isinstance(y, (int, float, np.integer, np.floating)) and is_tensor(x):
        exponent = _STRUCTURAL.get(float(y))
        if exponent is not None and type(x) is EagerTensor and x.node.aval.inexact:
            return emit(_pow.op, (x.node, engine.number(exponent, x.node.aval.dtype)), (exponent,))
    return _pow(x, y, exponent=exponent)


# Exponents that are structure: a fixed set, so that an exponent that counts steps does not compile a program for each step.
_STRUCTURAL = {halves / 2: halves / 2 for halves in range(-32, 33)}


# ---------------------------------------------------------------------------------------------------------------------
# Trigonometric functions


@elementwise("Sin", slope=lambda x: cos(x), infer=_INEXACT, flops=1)
def sin(x):
    """Return the sine of `x` (radians), element-wise. Float or complex.

    >>> tf.sin([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8415], dtype=float32)
    """
    return jnp.sin(x)


@elementwise("Cos", slope=lambda x: -sin(x), infer=_INEXACT, flops=1)
def cos(x):
    """Return the cosine of `x` (radians), element-wise. Float or complex.

    >>> tf.cos([0.0, 1.0]).numpy().round(4)
    array([1.    , 0.5403], dtype=float32)
    """
    return jnp.cos(x)


@elementwise("Tan", slope=lambda x: square(reciprocal(cos(x))), infer=_INEXACT, flops=1)
def tan(x):
    """Return the tangent of `x` (radians), element-wise. Float or complex.

    >>> tf.tan([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5574], dtype=float32)
    """
    return jnp.tan(x)


@elementwise("Asin", slope=lambda x: rsqrt(1.0 - square(x)), infer=_INEXACT, flops=1)
def asin(x):
    """Return the inverse sine, in [-π/2, π/2], element-wise: NaN outside of [-1, 1]. Float or complex.

    >>> tf.asin([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.5708], dtype=float32)
    """
    return jnp.arcsin(x)


@elementwise("Acos", slope=lambda x: -rsqrt(1.0 - square(x)), infer=_INEXACT, flops=1)
def acos(x):
    """Return the inverse cosine, in [0, π], element-wise: NaN outside of [-1, 1]. Float or complex.

    >>> tf.acos([1.0, -1.0]).numpy().round(4)
    array([0.    , 3.1416], dtype=float32)
    """
    return jnp.arccos(x)


@elementwise("Atan", slope=lambda x: reciprocal(1.0 + square(x)), infer=_INEXACT, flops=1)
def atan(x):
    """Return the inverse tangent, in [-π/2, π/2], element-wise. Float or complex.

    >>> tf.atan([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7854], dtype=float32)
    """
    return jnp.arctan(x)


@op(
    "Atan2", infer=only(FLOATING, broadcast), broadcasting=True, saves="y x", flops=1,
    at_edge="keep the point away from 0, where no angle is defined: `tf.math.atan2(x, tf.where((x == 0) & (y == 0), 1.0, y))`",
)  # fmt: skip
def atan2(y, x):
    """Return the angle in [-π, π] of the point (x, y), element-wise, with broadcasting. Float.

    >>> tf.atan2([1.0, -1.0], [0.0, 0.0]).numpy().round(4)
    array([ 1.5708, -1.5708], dtype=float32)
    """
    return jnp.arctan2(y, x)


@gradient(atan2)
def _(dy, y, x):
    scaled = dy / (square(x) + square(y))
    return x * scaled, -y * scaled


# ---------------------------------------------------------------------------------------------------------------------
# Hyperbolic functions


@elementwise("Sinh", slope=lambda x: cosh(x), infer=_INEXACT, flops=1)
def sinh(x):
    """Return the hyperbolic sine, element-wise. Float or complex.

    >>> tf.sinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 1.1752], dtype=float32)
    """
    return jnp.sinh(x)


@elementwise("Cosh", slope=lambda x: sinh(x), infer=_INEXACT, flops=1)
def cosh(x):
    """Return the hyperbolic cosine, element-wise. Float or complex.

    >>> tf.cosh([0.0, 1.0]).numpy().round(4)
    array([1.    , 1.5431], dtype=float32)
    """
    return jnp.cosh(x)


@elementwise("Tanh", slope=lambda y: 1.0 - y * y, infer=_INEXACT, flops=1)
def tanh(x):
    """Return the hyperbolic tangent, element-wise. Float or complex.

    >>> tf.tanh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.7616], dtype=float32)
    """
    return jnp.tanh(x)


@op("Asinh", infer=_INEXACT, saves="y", flops=1)
def asinh(x):
    """Return the inverse hyperbolic sine, element-wise. Float or complex.

    >>> tf.asinh([0.0, 1.0]).numpy().round(4)
    array([0.    , 0.8814], dtype=float32)
    """
    return jnp.arcsinh(x)


@gradient(asinh)
def _(dy, y):
    return dy / conj(cosh(y))  # not by x, whose square may overflow


@op("Acosh", infer=_INEXACT, saves="y", flops=1)
def acosh(x):
    """Return the inverse hyperbolic cosine, element-wise: NaN below 1. Float or complex.

    >>> tf.acosh([1.0, 2.0]).numpy().round(4)
    array([0.   , 1.317], dtype=float32)
    """
    return jnp.arccosh(x)


@gradient(acosh)
def _(dy, y):
    return dy / conj(sinh(y))


@elementwise("Atanh", slope=lambda x: reciprocal(1.0 - square(x)), infer=_INEXACT, flops=1)
def atanh(x):
    """Return the inverse hyperbolic tangent, element-wise: NaN outside of [-1, 1]. Float or complex.

    >>> tf.atanh([0.0, 0.5]).numpy().round(4)
    array([0.    , 0.5493], dtype=float32)
    """
    return jnp.arctanh(x)
