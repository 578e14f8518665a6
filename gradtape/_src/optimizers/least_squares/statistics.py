"""Statistics of a fit from its final Jacobian: covariance, undetermined directions, bands of predictions.

They are the statistics of the linear model: Seber and Wild, "Nonlinear Regression" (1989), sections 5.1 and 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.variable import Variable


class Statistics:
    """Statistics of `variables` from the transposed Jacobian `rows` (None: it was not formed), with the column lengths `scale`.

    `variance`: of a residual. `freedom`: the number of observations minus that of parameters. `rounding`: singular values below
    this, relative to the largest, are rounding errors. `row`: the index of this fit in a batch.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        rows: np.ndarray | None,
        scale: np.ndarray,
        variance: float,
        freedom: int,
        rounding: float,
        row: int | None = None,
    ) -> None:
        self.variables, self.freedom, self._row = variables, freedom, row
        self._rows, self._scale, self._variance, self._rounding = rows, scale, variance, rounding

    @cached_property
    def _triangle(self) -> np.ndarray | None:
        """The triangular factor of the scaled Jacobian."""
        if self._rows is None:
            return None
        return np.asarray(np.linalg.qr((self._rows.astype(np.float64) / self._scale[:, None]).T, mode="r"))

    def undetermined(self) -> np.ndarray | None:
        """Return the directions in which the residuals do not change; None if the Jacobian was not formed."""
        if self._triangle is None:
            return None
        _, stretches, directions = np.linalg.svd(self._triangle, full_matrices=True)
        rank = np.count_nonzero(stretches > self._rounding * stretches[0])
        found: np.ndarray = directions[rank:] / self._scale
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def covariance(self) -> np.ndarray | None:
        """Return the covariance; None if the Jacobian was not formed or lacks full rank, or without a degree of freedom."""
        directions = self.undetermined()
        if directions is None or len(directions) or self.freedom < 1:
            return None
        assert self._triangle is not None
        inverse = np.linalg.inv(self._triangle) / self._scale[:, None]
        covariance: np.ndarray = self._variance * inverse @ inverse.T
        return covariance

    def band(
        self, function: Callable[[], Any], covariance: np.ndarray | None, level: float, observations: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions, and the half-widths of their bands."""
        if not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
            raise ValueError(f"level must be between 0 and 1, received {level!r}.")
        if covariance is None:
            directions = self.undetermined()
            reason = "no dense Jacobian was made" if directions is None else "there are no more observations than parameters"
            if directions is not None and len(directions):
                first = np.array2string(directions[0], precision=3)
                reason = f"the residuals do not change along {len(directions)} directions, the first of which is {first}"
            raise ValueError(f"There is no band, as {reason}. It needs a fit with a covariance.")
        with GradientTape() as tape:
            predicted = tensor(function())
        if not predicted.dtype.is_floating:
            raise ValueError(f"The function must return floating numbers, received {predicted.dtype.name}.")
        count = predicted.node.aval.size
        parts = tape.jacobian(predicted, self.variables, unconnected_gradients="zero")
        if self._row is not None:
            parts = [p[(slice(None),) * predicted.shape.rank + (self._row,)] for p in parts]
        slopes = np.concatenate([np.asarray(p, np.float64).reshape(count, -1) for p in parts], 1)
        variances = np.einsum("ij,jk,ik->i", slopes, covariance, slopes) + observations * self._variance
        values = np.asarray(predicted)
        return values, (quantile(level, self.freedom) * np.sqrt(variances)).reshape(values.shape)


def quantile(level: float, freedom: int) -> float:
    """Return the t for which Student's distribution has the probability `level` in [−t, t]."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 * (1.0 + level)))
