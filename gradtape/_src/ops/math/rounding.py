"""Rounding to integers, rounded quotients, and remainders. Only `floormod` has a gradient."""

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, not_differentiable, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.ops.math.arithmetic import negative
from gradtape._src.ops.shapes import FLOATING, REAL, broadcast, only, same

STEPS = "it is piecewise constant, and a derivative would be 0 nearly everywhere"


@op("Floor", infer=only(FLOATING, same), flops=1, traits="steps")
def floor(x):
    """Return the largest integer not above `x`, element-wise. Float; the dtype is kept.

    >>> tf.floor([1.7, -1.2]).numpy()
    array([ 1., -2.], dtype=float32)
    """
    return jnp.floor(x)


@op("Ceil", infer=only(FLOATING, same), flops=1, traits="steps")
def ceil(x):
    """Return the smallest integer not below `x`, element-wise. Float; the dtype is kept.

    >>> tf.math.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.], dtype=float32)
    """
    return jnp.ceil(x)


@op("Round", infer=only(FLOATING, same), flops=1, traits="steps")
def _round(x):
    return jnp.round(x)


@public
def round(x, name=None):
    """Round to the nearest integer, element-wise; halves go to the even one, so 0.5 and 2.5 give 0 and 2. Integers are
    unchanged.

    >>> tf.round([0.5, 1.5, 2.2]).numpy()
    array([0., 2., 2.], dtype=float32)
    """
    x = tensor(x)
    return x if x.dtype.is_integer else _round(x)


@op("Rint", infer=only(FLOATING, same), flops=1, traits="steps")
def rint(x):
    """Round to the nearest integer, element-wise; halves go to the even one. Float.

    >>> tf.math.rint([0.5, 1.5, 2.2]).numpy()
    array([0., 2., 2.], dtype=float32)
    """
    return jnp.rint(x)


not_differentiable(floor, ceil, _round, rint, because=STEPS)


# ---------------------------------------------------------------------------------------------------------------------
# Rounded quotients, and remainders


def _zeros(y):
    yield y == 0, "Integer division by zero\nThe divisor holds a 0. Replace it with tf.where, or divide floats."


def _integers(x, y):
    return x.dtype.kind in "iu"


_nonzero: dict[str, Any] = {"refuses": _zeros, "when": _integers}


@op(
    "FloorDiv", infer=only(REAL, broadcast), broadcasting=True, **_nonzero, flops=1, operator="floordiv", traits="steps",
    instead="divide with `/`", folds=lambda x, y: x // y,
)  # fmt: skip
def floordiv(x, y):
    """Return `⌊x / y⌋`, element-wise, with broadcasting. Real dtypes; an integer divisor of 0 is an InvalidArgumentError.

    >>> tf.math.floordiv([7, -7], 2).numpy()
    array([ 3, -4], dtype=int32)
    """
    return jnp.floor(x / y) if jnp.issubdtype(x.dtype, jnp.floating) else jnp.floor_divide(x, y)


not_differentiable(floordiv, because=STEPS)


@op(
    "FloorMod", infer=only(REAL, broadcast), broadcasting=True, saves="x y", **_nonzero, flops=1, operator="mod", traits="steps",
    folds=lambda x, y: x % y,
)  # fmt: skip
def floormod(x, y):
    """Return `x - ⌊x / y⌋·y`, with the sign of `y`, element-wise, with broadcasting; see `floordiv`.

    >>> print(tf.math.floormod([7, -7], 3).numpy(), tf.math.floormod([7, -7], -3).numpy())
    [1 2] [-2 -1]
    """
    return jnp.remainder(x, y)


@gradient(floormod)
def _(dy, x, y, needs_y):
    return dy, dy * negative(floordiv(x, y)) if needs_y else None


mod = floormod


@op("TruncateDiv", infer=only(REAL, broadcast), broadcasting=True, **_nonzero, flops=1, instead="divide with `/`")
def truncatediv(x, y):
    """Return `x / y` rounded towards 0, element-wise, with broadcasting; see `floordiv`.

    >>> print(tf.truncatediv([7, -7], 2).numpy(), tf.math.floordiv([7, -7], 2).numpy())
    [ 3 -3] [ 3 -4]
    """
    return jnp.trunc(x / y) if jnp.issubdtype(x.dtype, jnp.floating) else lax.div(*jnp.broadcast_arrays(x, y))


not_differentiable(truncatediv, because=STEPS)


# As in TensorFlow, there is no gradient: LookupError.
@op("TruncateMod", infer=only(("int32", "int64", *FLOATING), broadcast), broadcasting=True, **_nonzero, flops=1, traits="steps")
def truncatemod(x, y):
    """Return the remainder of `truncatediv`, with the sign of `x`, element-wise, with broadcasting. Float, int32 or int64.

    It has no gradient (LookupError).

    >>> print(tf.truncatemod([7, -7], 3).numpy(), tf.math.floormod([7, -7], 3).numpy())
    [ 1 -1] [1 2]
    """
    return lax.rem(*jnp.broadcast_arrays(x, y))
