"""The linear model of the residuals at a point, ‖r + J·p‖², with its Jacobian at hand (dense) or not (matrix-free).

Steps are taken in scaled variables D·p, so that the units of the parameters do not matter. D are the largest column norms of the
Jacobian so far: Moré, "The Levenberg-Marquardt algorithm: implementation and theory" (1978), section 6.
"""

from __future__ import annotations

import numpy as np

from gradtape._src.optimizers.least_squares.residuals import Residuals

WORST_PIVOTS = 1e-6  # ratio of the diagonal of a Cholesky factor below which QR takes its place


class Dense:
    """The model with its Jacobian. `free` are the parameters that may move."""

    def __init__(self, r: np.ndarray, rows: np.ndarray, scale: np.ndarray, free: np.ndarray) -> None:
        self.r = r.astype(np.float64, copy=False)
        self.free = free
        self._jacobian = (rows[free].astype(np.float64, copy=False) / scale[free, None]).T
        self.gradient = self._jacobian.T @ self.r
        self._normal = self._jacobian.T @ self._jacobian
        self._triangle: tuple[np.ndarray, np.ndarray] | None = None
        self._largest = float(np.max(np.diag(self._normal), initial=0.0))

    @property
    def cosine(self) -> float:
        """The largest cosine of an angle between the residuals and a column of the Jacobian: 0 where the gradient is."""
        columns = np.sqrt(np.diag(self._normal)) * np.linalg.norm(self.r)
        return float(np.max(np.abs(self.gradient) / np.where(columns > 0, columns, np.inf), initial=0.0))

    def push(self, step: np.ndarray) -> np.ndarray:
        """J times a scaled step of the free parameters."""
        return self._jacobian @ step

    def step(self, damping: float, residuals: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """The scaled step p that minimises ‖r + J·p‖² + damping·‖p‖², and how fast ‖p‖² falls with the damping.

        By Cholesky's factor of the normal equations; where its pivots say that they are nearly singular, by the QR
        factorisation of the Jacobian, whose condition is only the root of theirs. `residuals` in place of r: for the second
        order.
        """
        damped = self._normal + damping * np.eye(len(self._normal))
        gradient = self.gradient if residuals is None else self._jacobian.T @ residuals
        try:
            factor = np.linalg.cholesky(damped)
        except np.linalg.LinAlgError:
            factor = None
        if factor is not None:
            pivots = np.diag(factor)
            if pivots.min(initial=1.0) > WORST_PIVOTS * pivots.max(initial=0.0):
                p = -np.linalg.solve(damped, gradient)
                return p, -2 * float(p @ np.linalg.solve(damped, p))
        return self._step_by_qr(damping, self.r if residuals is None else residuals)

    def _step_by_qr(self, damping: float, residuals: np.ndarray) -> tuple[np.ndarray, float]:
        if self._triangle is None:
            self._triangle = np.linalg.qr(self._jacobian)
        q, triangle = self._triangle
        count = len(self._normal)
        below = np.sqrt(damping) * np.eye(count)
        rotation, factor = np.linalg.qr(np.concatenate([triangle, below]))
        right = np.concatenate([q.T @ residuals, np.zeros(count)])
        pivots = np.abs(np.diag(factor))
        if pivots.min() <= np.finfo(np.float64).eps * pivots.max():
            p = -np.linalg.lstsq(np.concatenate([triangle, below]), right)[0]
            return p, -np.inf
        p = -np.linalg.solve(factor, rotation.T @ right)
        inside = np.linalg.solve(factor.T, p)
        return p, -2 * float(inside @ inside)

    def within(self, radius: float, damping: float) -> tuple[np.ndarray, float]:
        """The step for which ‖p‖ is the radius to a tenth, with its damping; without damping if that step is short enough.

        Newton's method on 1/‖p‖ = 1/radius: Moré (1978), section 5, after Hebden.
        """
        p, slope = self.step(0.0)
        if np.all(np.isfinite(p)) and np.isfinite(slope) and np.linalg.norm(p) <= 1.1 * radius:
            return p, 0.0
        low, high = 0.0, float(np.linalg.norm(self.gradient)) / radius
        if not low < damping < high:
            damping = 1e-3 * high
        for _ in range(20):
            p, slope = self.step(damping)
            length = float(np.linalg.norm(p))
            if abs(length - radius) <= 0.1 * radius:
                break
            if length > radius:
                low = max(low, damping)
            else:
                high = min(high, damping)
            damping -= 2 * (length / radius) * (length - radius) * length / slope
            if not low < damping < high:
                damping = max(1e-3 * high, float(np.sqrt(low * high)))
        return p, damping


class MatrixFree:
    """The model without its Jacobian: products with it only.

    `step` solves by conjugate gradients on the normal equations in the form that keeps the residuals (CGLS: Björck,
    "Numerical Methods for Least Squares Problems" (1996), section 7.4), `within` stops them at the radius (Steihaug, "The
    conjugate gradient method and trust regions in large scale optimization" (1983)).
    """

    def __init__(
        self,
        residuals: Residuals,
        x: np.ndarray,
        r: np.ndarray,
        scale: np.ndarray,
        free: np.ndarray,
        accuracy: float,
        most: int,
    ) -> None:
        self._residuals, self._x, self._scale, self.free = residuals, x, scale, free
        self.r = r.astype(np.float64, copy=False)
        self._accuracy, self._most = accuracy, most
        self.gradient = self.pull(self.r)

    @property
    def cosine(self) -> float:
        """The gradient's largest element over the residuals' norm: 0 where the gradient is."""
        norm = float(np.linalg.norm(self.r))
        return float(np.max(np.abs(self.gradient), initial=0.0)) / norm if norm else 0.0

    def push(self, step: np.ndarray) -> np.ndarray:
        """J times a scaled step of the free parameters."""
        whole = np.zeros(len(self.free))
        whole[self.free] = step
        return self._residuals.push(self._x, (whole / self._scale).astype(self._x.dtype)).astype(np.float64)

    def pull(self, cotangent: np.ndarray) -> np.ndarray:
        """The transpose of J times a vector."""
        pulled = self._residuals.pull(self._x, cotangent.astype(self._x.dtype)).astype(np.float64)
        return (pulled / self._scale)[self.free]

    def step(self, damping: float, residuals: np.ndarray | None = None) -> tuple[np.ndarray, float]:
        """The step p that minimises ‖r + J·p‖² + damping·‖p‖², to the accuracy asked for."""
        return self._solve(damping, np.inf, residuals), np.nan

    def within(self, radius: float, damping: float) -> tuple[np.ndarray, float]:
        """The step that conjugate gradients reach when they leave the radius, or when they are done."""
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
            if np.linalg.norm(further) > radius:
                return p + _to_the_edge(p, direction, radius) * direction
            p = further
            left = left - length * pushed
            down = self.pull(left) - damping * p
            before, steepness = steepness, float(down @ down)
            direction = down + steepness / before * direction
        return p


def _to_the_edge(p: np.ndarray, direction: np.ndarray, radius: float) -> float:
    """The t ≥ 0 at which ‖p + t·direction‖ is the radius."""
    a, b, c = float(direction @ direction), float(p @ direction), float(p @ p) - radius**2
    return (-b + float(np.sqrt(max(b * b - a * c, 0.0)))) / a
