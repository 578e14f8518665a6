"""Floats rounded to whole numbers. None of these has a gradient."""

from gradtape._src.core.arrays import jnp
from gradtape._src.core.convert import tensor
from gradtape._src.core.define import not_differentiable, op
from gradtape._src.core.errors import public
from gradtape._src.ops.math.arithmetic import STEPS
from gradtape._src.ops.shapes import FLOATING, only, same


@op("Floor", infer=only(FLOATING, same))
def floor(x):
    """Return the largest whole number not above `x`, element-wise. Float.

    >>> tf.floor([1.7, -1.2]).numpy()
    array([ 1., -2.], dtype=float32)
    """
    return jnp.floor(x)


@op("Ceil", infer=only(FLOATING, same))
def ceil(x):
    """Return the smallest whole number not below `x`, element-wise. Float.

    >>> tf.math.ceil([1.2, -1.7]).numpy()
    array([ 2., -1.], dtype=float32)
    """
    return jnp.ceil(x)


@op("Round", infer=only(FLOATING, same))
def _round(x):
    return jnp.round(x)


@public
def round(x, name=None):
    """Return the nearest whole number, element-wise, the even one of two: 0.5 and 2.5 give 0 and 2. Integers stay.

    >>> tf.round([0.5, 1.5, 2.2]).numpy()
    array([0., 2., 2.], dtype=float32)
    """
    x = tensor(x)
    return x if x.dtype.is_integer else _round(x)


@op("Rint", infer=only(FLOATING, same))
def rint(x):
    """Return the nearest whole number, element-wise, the even one of two. Float.

    >>> tf.math.rint([0.5, 1.5, 2.2]).numpy()
    array([0., 2., 2.], dtype=float32)
    """
    return jnp.rint(x)


not_differentiable(floor, ceil, _round, rint, because=STEPS)
