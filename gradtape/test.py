"""What helps to test gradients."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.derivatives.gradient_check import compute_gradient as compute_gradient

__getattr__ = _missing(__name__)
