"""Optimizers: Levenberg-Marquardt, and updates under masks."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.optimizers.least_squares.levenberg_marquardt import (
    LeastSquaresResult as LeastSquaresResult,
    LevenbergMarquardt as LevenbergMarquardt,
)
from gradtape._src.optimizers.masked import MaskedUpdate as MaskedUpdate

__getattr__ = _missing(__name__)
