"""Raw ops of gradients that libraries call by type."""

from __future__ import annotations

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.ops.math.arithmetic import multiply, square, subtract


@public
def SigmoidGrad(*, y, dy, name=None):
    """Return `dy * y * (1 - y)`, the gradient of a sigmoid whose result is `y`.

    >>> tf.raw_ops.SigmoidGrad(y=[0.5], dy=[2.0]).numpy()
    array([0.5], dtype=float32)
    """
    y = tensor(y)
    return multiply(multiply(tensor(dy, y.dtype), y), subtract(1, y))


@public
def TanhGrad(*, y, dy, name=None):
    """Return `dy * (1 - y * y)`, the gradient of a `tanh` whose result is `y`.

    >>> tf.raw_ops.TanhGrad(y=[0.5], dy=[2.0]).numpy()
    array([1.5], dtype=float32)
    """
    y = tensor(y)
    return multiply(tensor(dy, y.dtype), subtract(1, square(y)))
