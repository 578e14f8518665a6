"""Softmax and its logarithm."""

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.tensors.convert import static, tensor
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops import flops
from gradtape._src.ops.floats import wide
from gradtape._src.ops.math.elementary import exp
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.shapes import FLOATING, only, same


def exponentials(logits, axis):
    """Return `(top, z, e, s)`: the maximum, z = logits − top, e = exp(z), and s = Σe, with the axis kept."""
    top = jnp.max(logits, axis=axis, keepdims=True, initial=-jnp.inf)
    z = logits - top
    e = jnp.exp(z)
    return top, z, e, jnp.sum(e, axis=axis, keepdims=True)


def class_axis(axis, rank):
    """Convert the axis of the classes to an int ≥ 0 (None: the last). InvalidArgumentError if it is out of range."""
    if isinstance(axis, (list, tuple)):
        raise TypeError(f"axis must be an integer, received {axis!r}: softmax goes along one axis.")
    axis = -1 if axis is None else static(axis, "axis")
    if not -rank <= axis < rank:
        raise invalid(
            f"`dim` must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions in the input. "
            f"Received: dim={axis}"
        )
    return axis % rank


_NO_KEY = "leave each row an element that counts: mask with a large negative number, as -1e9, in the place of -inf"


@op("Softmax", infer=only(FLOATING, same), saves="y", flops=flops.by_rows(5, 2), at_edge=_NO_KEY)
def _softmax(logits, *, axis):
    _, _, e, s = exponentials(wide(logits), axis)
    return (e / s).astype(logits.dtype)


@gradient(_softmax)
def _(dy, y, *, axis):  # dx = (dy − Σ dy·y)·y
    return (dy - reduce_sum(dy * y, axis, keepdims=True)) * y


@op("LogSoftmax", infer=only(FLOATING, same), saves="y", flops=flops.by_rows(5, 1), at_edge=_NO_KEY)
def _log_softmax(logits, *, axis):
    _, z, _, s = exponentials(wide(logits), axis)
    return (z - jnp.log(s)).astype(logits.dtype)


@gradient(_log_softmax)
def _(dy, y, *, axis):  # dx = dy − exp(y)·Σ dy
    return dy - exp(y) * reduce_sum(dy, axis, keepdims=True)


@public
def softmax(logits, axis=None, name=None) -> Tensor:
    """Return exp(x) / Σ exp(x) along `axis` (the last one for None): positive numbers that sum to 1.

    Shape and dtype of `logits`, which is floating and has at least one axis.

    >>> tf.nn.softmax([0.0, 1.0, 3.0]).numpy().round(4)
    array([0.042 , 0.1142, 0.8438], dtype=float32)
    """
    logits = tensor(logits)
    return _softmax(logits, class_axis(axis, logits.ndim))


@public
def log_softmax(logits, axis=None, name=None) -> Tensor:
    """Return x − log Σ exp(x) along `axis` (the last one for None). Shape and dtype of `logits`, which is floating.

    >>> tf.nn.log_softmax([0.0, 0.0]).numpy().round(4)
    array([-0.6931, -0.6931], dtype=float32)
    """
    logits = tensor(logits)
    return _log_softmax(logits, class_axis(axis, logits.ndim))
