"""The linear model of the residuals at a point, ‖r + J·p‖², with its Jacobian at hand (dense, sparse) or not (matrix-free).

Steps are taken in scaled variables D·p, so that the units of the parameters do not matter. D are the largest column norms of the
Jacobian so far: Moré, "The Levenberg-Marquardt algorithm: implementation and theory" (1978), section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradtape._src.optimizers.least_squares.damping import norm
from gradtape._src.optimizers.least_squares.residuals import Residuals

Solve = Callable[[np.ndarray], np.ndarray]
ALL = slice(None)  # of the parameters
WORST_PIVOTS = 1e-6  # ratio of the diagonal of a Cholesky factor below which QR takes its place


class Dense:
    """The model with its Jacobian, of which `rows` is the transpose. `free` says which parameters may move."""

    def __init__(self, r: np.ndarray, rows: Any, norms: np.ndarray, scale: np.ndarray, free: Any) -> None:
        self.r, self.free = r, free
        self._norms, self._scale, self._rows = norms[free], scale[free], rows[free]
        self.gradient = self._rows @ r / self._scale
        self._prepare()

    def _prepare(self) -> None:
        self._normal = self._rows @ self._rows.T / (self._scale[:, None] * self._scale)
        self._triangle: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def cosine(self) -> float:
        """The largest cosine of an angle between the residuals and a column of the Jacobian: 0 where the gradient is."""
        lengths = self._norms * norm(self.r)
        lengths[lengths == 0] = np.inf
        return float((np.abs(self.gradient * self._scale) / lengths).max(initial=0.0))

    def push(self, step: np.ndarray) -> np.ndarray:
        """Return J times a scaled step of the free parameters."""
        pushed: np.ndarray = (step / self._scale) @ self._rows
        return pushed

    def step(self, damping: float, residuals: np.ndarray | None = None) -> np.ndarray:
        """Return the scaled step p that minimises ‖r + J·p‖² + damping·‖p‖².

        By Cholesky's factor of the normal equations; where its pivots say that they are nearly singular, by the QR
        factorisation of the Jacobian, whose condition is only the root of theirs. `residuals` in place of r: for the second
        order.
        """
        return self._solved(damping, residuals)[0]

    def _solved(self, damping: float, residuals: np.ndarray | None = None) -> tuple[np.ndarray, Solve | None]:
        """Return the step, and a solver with its damped normal matrix (None if that is singular)."""
        damped = self._normal
        if damping:
            damped = damped.copy()
            damped.flat[:: len(damped) + 1] += damping
        try:
            pivots = np.linalg.cholesky(damped).diagonal()
        except np.linalg.LinAlgError:
            pivots = np.zeros(1)
        if pivots.min(initial=1.0) <= WORST_PIVOTS * pivots.max(initial=0.0):
            return self._solved_by_qr(damping, self.r if residuals is None else residuals)
        gradient = self.gradient if residuals is None else self._rows @ residuals / self._scale
        return -np.linalg.solve(damped, gradient), partial(np.linalg.solve, damped)

    def _solved_by_qr(self, damping: float, residuals: np.ndarray) -> tuple[np.ndarray, Solve | None]:
        if self._triangle is None:
            self._triangle = np.linalg.qr((self._rows / self._scale[:, None]).T)
        q, triangle = self._triangle
        count = len(self._normal)
        below = np.sqrt(damping) * np.eye(count)
        rotation, factor = np.linalg.qr(np.concatenate([triangle, below]))
        right = np.concatenate([q.T @ residuals, np.zeros(count)])
        pivots = np.abs(factor.diagonal())
        if pivots.min() <= np.finfo(np.float64).eps * pivots.max():
            return -np.linalg.lstsq(np.concatenate([triangle, below]), right)[0], None
        return -np.linalg.solve(factor, rotation.T @ right), lambda v: np.linalg.solve(factor, np.linalg.solve(factor.T, v))

    def within(self, radius: float, damping: float) -> tuple[np.ndarray, float]:
        """Return the step for which ‖p‖ is the radius to a tenth, with its damping; without damping if that step is short
        enough.

        Newton's method on 1/‖p‖ = 1/radius: Moré (1978), section 5, after Hebden.
        """
        p, solve = self._solved(0.0)
        if solve is not None and norm(p) <= 1.1 * radius:
            return p, 0.0
        low, high = 0.0, norm(self.gradient) / radius
        if not low < damping < high:
            damping = 1e-3 * high
        for _ in range(20):
            p, solve = self._solved(damping)
            length = norm(p)
            if solve is None or abs(length - radius) <= 0.1 * radius:
                break
            if length > radius:
                low = max(low, damping)
            else:
                high = min(high, damping)
            damping += (length / radius) * (length - radius) * length / float(p @ solve(p))
            if not low < damping < high:
                damping = max(1e-3 * high, float(np.sqrt(low * high)))
        return p, damping


class Sparse(Dense):
    """The model with a sparse Jacobian, of which `rows` is the transpose, in SciPy's format CSR.

    Steps are solutions of the augmented system [[I, J], [Jᵀ, −damping]], whose condition is that of the Jacobian: Björck,
    "Numerical Methods for Least Squares Problems" (1996), section 2.5. Its factors are SuperLU's.
    """

    def _prepare(self) -> None:
        from scipy import sparse

        scaled = sparse.diags_array(1.0 / self._scale) @ self._rows
        count, results = scaled.shape
        corner = sparse.csr_array((count, count))
        self._system = sparse.block_array([[sparse.eye_array(results), scaled.T], [scaled, corner]], format="csc")
        self._below = sparse.diags_array(np.repeat([0.0, 1.0], [results, count]), format="csc")

    def _solved(self, damping: float, residuals: np.ndarray | None = None) -> tuple[np.ndarray, Solve | None]:
        from scipy.sparse import linalg

        count, results = self._rows.shape
        try:
            factors = linalg.splu((self._system - damping * self._below).tocsc())
        except RuntimeError:  # singular: with the least damping that shows beside columns of length 1
            factors = linalg.splu((self._system - np.finfo(np.float64).eps * self._below).tocsc())
        right = self.r if residuals is None else residuals
        solution = factors.solve(np.concatenate([-right, np.zeros(count)]))

        def solve(v: np.ndarray) -> np.ndarray:
            found: np.ndarray = factors.solve(np.concatenate([np.zeros(results), -v]))[results:]
            return found

        return solution[results:], solve


class MatrixFree:
    """The model without its Jacobian: products with it only.

    `step` solves by conjugate gradients on the normal equations in the form that keeps the residuals (CGLS: Björck, "Numerical
    Methods for Least Squares Problems" (1996), section 7.4). `within` stops them at the radius (Steihaug, "The conjugate
    gradient method and trust regions in large scale optimization" (1983)).
    """

    def __init__(
        self,
        residuals: Residuals,
        x: np.ndarray,
        r: np.ndarray,
        scale: np.ndarray,
        free: Any,
        accuracy: float,
        most: int,
    ) -> None:
        self._residuals, self._x, self._scale, self.free = residuals, x, scale, free
        self.r = r
        self._accuracy, self._most = accuracy, most
        self.gradient = self.pull(self.r)

    @property
    def cosine(self) -> float:
        """The gradient's largest element over the residuals' norm: 0 where the gradient is."""
        length = norm(self.r)
        return float(np.max(np.abs(self.gradient), initial=0.0)) / length if length else 0.0

    def push(self, step: np.ndarray) -> np.ndarray:
        """Return J times a scaled step of the free parameters."""
        whole = np.zeros(len(self._x))
        whole[self.free] = step
        return self._residuals.push(self._x, (whole / self._scale).astype(self._x.dtype)).astype(np.float64)

    def pull(self, cotangent: np.ndarray) -> np.ndarray:
        """Return the transpose of J times a vector."""
        pulled = self._residuals.pull(self._x, cotangent.astype(self._x.dtype)).astype(np.float64)
        return (pulled / self._scale)[self.free]

    def step(self, damping: float, residuals: np.ndarray | None = None) -> np.ndarray:
        """Return the step p that minimises ‖r + J·p‖² + damping·‖p‖², to the accuracy asked for."""
        return self._solve(damping, np.inf, residuals)

    def within(self, radius: float, damping: float) -> tuple[np.ndarray, float]:
        """Return the step that conjugate gradients reach when they leave the radius, or when they are done."""
        return self._solve(0.0, radius, None), 0.0

    def _solve(self, damping: float, radius: float, residuals: np.ndarray | None) -> np.ndarray:
        left = -(self.r if residuals is None else residuals)
        down = -self.gradient if residuals is None else self.pull(left)
        p, direction = np.zeros_like(down), down
        steepness = start = float(down @ down)
        for _ in range(self._most):
            if steepness <= self._accuracy**2 * start:
                break
            pushed = self.push(direction)
            curvature = float(pushed @ pushed + damping * (direction @ direction))
            if curvature <= np.finfo(np.float64).tiny:
                break
            length = steepness / curvature
            further = p + length * direction
            if norm(further) > radius:
                return p + _to_the_edge(p, direction, radius) * direction
            p = further
            left = left - length * pushed
            down = self.pull(left) - damping * p
            before, steepness = steepness, float(down @ down)
            direction = down + steepness / before * direction
        return p


def _to_the_edge(p: np.ndarray, direction: np.ndarray, radius: float) -> float:
    """Return the t ≥ 0 at which ‖p + t·direction‖ is the radius."""
    a, b, c = float(direction @ direction), float(p @ direction), float(p @ p) - radius**2
    return (-b + float(np.sqrt(max(b * b - a * c, 0.0)))) / a
