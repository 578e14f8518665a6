"""Optimizers: Levenberg-Marquardt, and updates under masks."""

from gradtape._src.compat.names import listed as _listed, missing as _missing
from gradtape._src.optimizers.least_squares.levenberg_marquardt import (
    LeastSquaresResult as LeastSquaresResult,
    LevenbergMarquardt as LevenbergMarquardt,
)

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
