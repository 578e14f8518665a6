"""Element-wise arithmetic and the elementary functions, each with its gradient beside it."""

import jax.numpy as jnp
import numpy as np

from gradtape._src.core.define import gradient, not_differentiable, op
from gradtape._src.core.errors import public
from gradtape._src.core.op import Op, define
from gradtape._src.core.tensor import emit
from gradtape._src.ops.shapes import broadcast, compare, predicate, same

# ---------------------------------------------------------------------------------------------------------------------
# Arithmetic


@op("AddV2", infer=broadcast, broadcasting=True)
def add(x, y):
    """`x + y`, element-wise, with broadcasting. Any numeric dtype."""
    return x + y


@gradient(add)
def _(op, dy):
    return dy, dy


@op("Sub", infer=broadcast, broadcasting=True)
def subtract(x, y):
    """`x - y`, element-wise, with broadcasting. Any numeric dtype."""
    return x - y


@gradient(subtract)
def _(op, dy):
    return dy, -dy


@op("Mul", infer=broadcast, broadcasting=True, saves="x y")
def multiply(x, y):
    """`x · y`, element-wise, with broadcasting. Any numeric dtype."""
    return x * y


@gradient(multiply)
def _(op, dy):
    x, y = op.inputs
    needs_x, needs_y = op.needed
    return dy * conj(y) if needs_x else None, dy * conj(x) if needs_y else None


@op("Neg", infer=same)
def negative(x):
    """`-x`, element-wise."""
    return -x


@gradient(negative)
def _(op, dy):
    return -dy


@op("Tanh", saves="y", infer=same)
def tanh(x):
    """Hyperbolic tangent of `x`, element-wise. Float or complex."""
    return jnp.tanh(x)


@gradient(tanh)
def _(op, dy):  # dx = dy · conj(1 − y²)
    (y,) = op.outputs
    return dy * conj(1 - y * y)


@op("Sin", saves="x", infer=same)
def sin(x):
    """Sine of `x` (radians), element-wise. Float or complex."""
    return jnp.sin(x)


@gradient(sin)
def _(op, dy):
    (x,) = op.inputs
    return dy * conj(cos(x))


@op("Cos", saves="x", infer=same)
def cos(x):
    """Cosine of `x` (radians), element-wise. Float or complex."""
    return jnp.cos(x)


@gradient(cos)
def _(op, dy):
    (x,) = op.inputs
    return -dy * conj(sin(x))


@op("Conj", infer=same)
def _conj(x):
    return jnp.conj(x)


@gradient(_conj)
def _(op, dy):
    return conj(dy)


@public
def conj(x, name=None):
    """Complex conjugate of `x`; real tensors are given back as they are."""
    from gradtape._src.core.convert import tensor

    x = tensor(x)
    return _conj(x) if x.dtype.is_complex else x


def _add_n_aval(*avals):
    return avals[0]


ADD_N = define(Op("AddN", lambda *inputs: sum(inputs[1:], inputs[0]), infer=_add_n_aval))


def add_n(tensors):
    return emit(ADD_N, tuple([t.node for t in tensors]))


@op("Floor", infer=same)
def floor(x):
    """The largest integer not above `x`, element-wise."""
    return jnp.floor(x)


not_differentiable(floor, because="it is piecewise constant: its derivative is 0 wherever it exists")


@op("Greater", infer=compare, broadcasting=True)
def greater(x, y):
    """`x > y`, element-wise, with broadcasting."""
    return x > y


not_differentiable(greater, because="a comparison gives a bool")
