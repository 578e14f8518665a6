"""Raw ops of random numbers that libraries call by type."""

from __future__ import annotations

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.ops.random.distributions import _gamma_slope


@public
def RandomGammaGrad(*, alpha, sample, name=None):
    """Return the derivative of a gamma distributed sample with respect to its `alpha`, at constant quantile.

    >>> print(f"{tf.raw_ops.RandomGammaGrad(alpha=2.0, sample=3.0).numpy():.4f}")
    1.3218
    """
    alpha = tensor(alpha)
    return _gamma_slope(alpha, tensor(sample, alpha.dtype))
