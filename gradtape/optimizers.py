"""Optimizers: Levenberg-Marquardt, and updates under masks."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from gradtape._src.compat.names import listed as _listed, missing as _missing
from gradtape._src.optimizers.least_squares.levenberg_marquardt import (
    LeastSquaresResult as LeastSquaresResult,
    LevenbergMarquardt as LevenbergMarquardt,
)

if _TYPE_CHECKING:  # Keras's stand beside them
    from keras.optimizers import *  # noqa: F403

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
