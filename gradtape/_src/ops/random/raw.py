"""Ops of random numbers that libraries call by their types."""

from __future__ import annotations

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.ops.random.distributions import _gamma_slope


@public
def RandomGammaGrad(*, alpha, sample, name=None):
    """Return the derivative of a sample of the gamma distribution to its `alpha`, at the same probability.

    >>> print(f"{tf.raw_ops.RandomGammaGrad(alpha=2.0, sample=3.0).numpy():.4f}")
    1.3218
    """
    alpha = tensor(alpha)
    return _gamma_slope(alpha, tensor(sample, alpha.dtype))
