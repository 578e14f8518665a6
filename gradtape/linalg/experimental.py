"""Solvers for linear operators: `tf.linalg.experimental`."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.operators.solvers import conjugate_gradient as conjugate_gradient

__getattr__ = _missing(__name__)
