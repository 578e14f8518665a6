"""Ops of special functions that libraries call by their types."""

from __future__ import annotations

from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import public
from gradtape._src.ops.math.special import _igamma_grad_a


@public
def IgammaGradA(*, a, x, name=None):
    """Return the derivative of `tf.math.igamma(a, x)` to `a`.

    >>> print(f"{tf.raw_ops.IgammaGradA(a=2.0, x=3.0).numpy():.4f}")
    -0.1974
    """
    a = tensor(a)
    return _igamma_grad_a(a, tensor(x, a.dtype))
