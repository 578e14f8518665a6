"""Optimizers: Levenberg-Marquardt, masked updates."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.optimizers.least_squares.levenberg_marquardt import (
    LeastSquaresResult as LeastSquaresResult,
    LevenbergMarquardt as LevenbergMarquardt,
)

__getattr__ = _missing(__name__)
