"""Limits of a step: three rules, each of which learns from the ratio of the actual reduction to the predicted one."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

GOOD_ENOUGH = 1e-4  # the least ratio with which a step is taken


def norm(x: np.ndarray) -> float:
    """Return the Euclidean norm of a vector."""
    return math.sqrt(float(x @ x))


class Rule(Protocol):
    """A rule proposes a scaled step of a model, and is told what came of it."""

    def begin(self, x: np.ndarray) -> None: ...
    def propose(self, model: Any) -> np.ndarray: ...
    def learn(self, ratio: float, length: float, model: Any, step: np.ndarray, cost: float, after: float) -> bool: ...
    @property
    def damping(self) -> float: ...


class TrustRegion:
    """A radius within which the model is trusted: Moré (1978), section 4, with its constants, as in MINPACK.

    The first radius is `initial` times the length of the (scaled) starting values.
    """

    def __init__(self, initial: float) -> None:
        self._initial, self._first = initial, True
        self.radius, self.damping = 0.0, 0.0

    def begin(self, x: np.ndarray) -> None:
        """Start at `x`, scaled."""
        self.radius = self._initial * (norm(x) or 1.0)

    def propose(self, model: Any) -> np.ndarray:
        """Return the step within the radius."""
        step, self.damping = model.within(self.radius, self.damping)
        result: np.ndarray = step
        return result

    def learn(self, ratio: float, length: float, model: Any, step: np.ndarray, cost: float, after: float) -> bool:
        """Take note of a step; whether it is taken."""
        if self._first:
            self.radius = min(self.radius, length)
        if ratio <= 0.25:
            shrink = 0.5
            if not after < cost:
                slope = float(model.gradient @ step) / cost if cost else 0.0
                bend = slope + 0.5 * (1 - after / cost) if cost and math.isfinite(after) else 0.0
                shrink = 0.5 * slope / bend if bend < 0 and after < 100 * cost else 0.1
            shrink = min(max(shrink, 0.1), 0.5)
            self.radius = shrink * min(self.radius, 10 * length)
            self.damping /= shrink
        elif self.damping == 0 or ratio >= 0.75:
            self.radius = 2 * length
            self.damping *= 0.5
        taken = ratio >= GOOD_ENOUGH
        self._first = self._first and not taken
        return taken


class Marquardt:
    """The damping is divided by 10 after a step that was taken, and multiplied by 10 after one that was not.

    Marquardt, "An algorithm for least-squares estimation of nonlinear parameters" (1963), p. 437.
    """

    def __init__(self, initial: float) -> None:
        self.damping = initial

    def begin(self, x: np.ndarray) -> None:
        """Do nothing: the start does not matter."""

    def propose(self, model: Any) -> np.ndarray:
        """Return the damped step."""
        step: np.ndarray = model.step(self.damping)
        return step

    def learn(self, ratio: float, length: float, model: Any, step: np.ndarray, cost: float, after: float) -> bool:
        """Take note of a step; whether it is taken."""
        taken = ratio > 0
        self.damping = self.damping / 10 if taken else self.damping * 10
        return taken


class Nielsen(Marquardt):
    """The damping falls smoothly with the ratio, and grows faster with each step in a row that is not taken.

    Nielsen, "Damping parameter in Marquardt's method", IMM-REP-1999-05 (1999), equation (2.5).
    """

    def __init__(self, initial: float) -> None:
        super().__init__(initial)
        self._growth = 2.0

    def learn(self, ratio: float, length: float, model: Any, step: np.ndarray, cost: float, after: float) -> bool:
        """Take note of a step; whether it is taken."""
        if ratio > 0:
            self.damping *= max(1 / 3, 1 - (2 * min(ratio, 1.0) - 1) ** 3)
            self._growth = 2.0
            return True
        self.damping *= self._growth
        self._growth *= 2
        return False


RULES = {"trust_region": (TrustRegion, 1.0), "nielsen": (Nielsen, 1e-3), "marquardt": (Marquardt, 1e-3)}  # with first values
