"""The linear model of the residuals at a point, ‖r + J·p‖², with its Jacobian (dense, sparse) or only products with it.

Steps are taken in scaled variables D·p, so that the units of the parameters do not matter. D are the largest column norms of the
Jacobian so far: Moré, "The Levenberg-Marquardt algorithm: implementation and theory" (1978), section 6. Everything is recorded as
ops, in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.control.loop import while_loop
from gradtape._src.core.declarations.define import not_differentiable, op
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.creation import ones_like, zeros_like
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, reshape, transpose
from gradtape._src.ops.linalg.decompositions import qr
from gradtape._src.ops.linalg.diagonals import diag, diag_part
from gradtape._src.ops.linalg.host import by_numpy
from gradtape._src.ops.linalg.matmul import matvec
from gradtape._src.ops.linalg.systems import cholesky, triangular_solve
from gradtape._src.ops.math.arithmetic import maximum, sqrt
from gradtape._src.ops.math.compare import logical_and, logical_not
from gradtape._src.ops.math.reduction import reduce_max, reduce_min, reduce_sum
from gradtape._src.ops.math.segment import unsorted_segment_sum
from gradtape._src.optimizers.least_squares.damping import norm, of_length

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
WORST_PIVOTS = 1e-6  # ratio of pivots of a Cholesky factor, below which QR replaces it

Solved = tuple[Tensor, Tensor, Tensor]


class Model:
    """A model at a point with the residuals `r`. `push` and `pull` multiply with J and Jᵀ, `norms` are of J's columns."""

    norms: Tensor
    gradient: Tensor  # half the gradient of the cost, scaled, and 0 for fixed parameters

    def __init__(self, r: Tensor) -> None:
        self.r = r

    def push(self, step: Tensor) -> Tensor:
        """Return J times a vector of parameters."""
        raise NotImplementedError

    def pull(self, cotangent: Tensor) -> Tensor:
        """Return the transpose of J times a vector of residuals."""
        raise NotImplementedError

    def scaled(self, scale: Tensor, free: Tensor) -> None:
        """Say which scale the steps have, and which of the parameters may move."""
        self.scale, self.free = scale, free
        self.gradient = self._moving(self.down)

    @property
    def down(self) -> Tensor:
        """Half of the cost's gradient."""
        return self.pull(self.r)

    def pulled(self, cotangent: Tensor) -> Tensor:
        """Return Jᵀ times a vector, scaled, and 0 for fixed parameters."""
        return self._moving(self.pull(cotangent))

    def _moving(self, pulled: Tensor) -> Tensor:
        return where(self.free, pulled / self.scale, zeros_like(pulled))

    @property
    def cosine(self) -> Tensor:
        """The largest cosine of an angle between the residuals and a column of the Jacobian; 0 where the gradient is 0."""
        lengths = self.norms * norm(self.r)
        some = lengths > 0.0
        cosines = abs(self.gradient * self.scale) / where(some, lengths, ones_like(lengths))
        return reduce_max(where(some, cosines, zeros_like(cosines)))

    def step(self, damping: Tensor, residuals: Tensor | None = None) -> Tensor:
        """Return the scaled step p that minimises ‖r + J·p‖² + damping·‖p‖². `residuals` replaces r, for a correction."""
        return self.solved(damping, residuals)[0]

    def within(self, radius: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
        """Return the step within the radius, and its damping; the search for it begins at `damping`."""
        return of_length(self.solved, self.gradient, radius, damping)

    def solved(self, damping: Tensor, residuals: Tensor | None = None) -> Solved:
        """Return the step, its product with the inverse of the damped normal matrix, and whether that is regular."""
        raise NotImplementedError

    def _fixed(self, damping: Tensor) -> Tensor:
        """Return the damping of each parameter: 1 for fixed parameters, whose columns are 0."""
        return where(self.free, damping, ones_like(self.scale))


class Dense(Model):
    """The model with a dense Jacobian, whose transpose is `rows`; `gram`: the inner products of these and of `r`, the last."""

    def __init__(self, r: Tensor, rows: Tensor, gram: Tensor) -> None:
        super().__init__(r)
        self._rows, self._gram = rows, gram
        self.norms = sqrt(diag_part(gram)[:-1])

    @property
    def down(self) -> Tensor:
        """Half of the cost's gradient."""
        return self._gram[:-1, -1]

    def push(self, step: Tensor) -> Tensor:
        """Return J times a vector of parameters."""
        pushed: Tensor = matvec(self._rows, step, transpose_a=True)
        return pushed

    def pull(self, cotangent: Tensor) -> Tensor:
        """Return the transpose of J times a vector of residuals."""
        pulled: Tensor = matvec(self._rows, cotangent)
        return pulled

    def scaled(self, scale: Tensor, free: Tensor) -> None:
        """Say which scale the steps have, and which of the parameters may move."""
        super().scaled(scale, free)
        given = where(free, 1.0 / scale, zeros_like(scale))
        self._normal = self._gram[:-1, :-1] * given * expand_dims(given, 1)

    def solved(self, damping: Tensor, residuals: Tensor | None = None) -> Solved:
        """Return the step, its product with the inverse of the damped normal matrix, and whether that is regular.

        It uses the Cholesky factor of the normal equations. If its pivots show that these are nearly singular, it uses the QR
        factorisation of the Jacobian, whose condition is only the root of theirs. QR is in a loop of at most one trip, which a
        batch of fits makes only if one of them needs it; a branch would run both ways. The trip changes its inputs, because XLA
        moves loop-invariant code out of a loop.
        """
        factor = cholesky(self._normal + diag(self._fixed(damping)))
        pivots = diag_part(factor)
        r = self.r if residuals is None else residuals
        slope = self.gradient if residuals is None else self.pulled(r)
        p = -triangular_solve(factor, triangular_solve(factor, expand_dims(slope, 1)), adjoint=True)
        half = triangular_solve(factor, p)
        good = reduce_min(pivots) > WORST_PIVOTS * reduce_max(pivots)  # False for NaN
        state = (good, damping, self.scale, p[:, 0], reduce_sum(half * half), tensor(True))

        def by_qr(_: Any, damping: Any, scale: Any, *solved: Any) -> Any:
            return True, damping + 1.0, scale + 1.0, *self.by_qr(damping, scale, r)

        found: Solved = while_loop(lambda good, *_: logical_not(good), by_qr, state, maximum_iterations=1)[3:]
        return found

    def by_qr(self, damping: Tensor, scale: Tensor, r: Tensor) -> Solved:
        """Return the results of `solved` by the QR factorisation of [J r; √damping 0], which also rotates the residuals."""
        count = extents_of(self.gradient)[0]
        least = (10.0 * count * EPS) ** 2  # damping above the rounding error of columns of length 1
        damping = where(damping > 0.0, maximum(damping, least), damping)
        below = diag(sqrt(self._fixed(damping)))
        given = where(self.free, 1.0 / scale, zeros_like(scale))
        above = concat([self._rows * expand_dims(given, 1), expand_dims(r, 0)], 0)
        _, triangle = qr(transpose(concat([above, concat([below, zeros_like(below[:1])], 0)], 1)))
        factor = triangle[:count, :count]
        pivots = abs(diag_part(factor))
        regular = reduce_min(pivots) > EPS * reduce_max(pivots)
        factor = where(regular, factor, diag(ones_like(pivots)))
        p = -triangular_solve(factor, triangle[:count, count:], lower=False)
        half = triangular_solve(factor, p, lower=False, adjoint=True)
        return p[:, 0], reduce_sum(half * half), regular


class Sparse(Model):
    """The model with a sparse Jacobian, whose entries come from `products` for each colour of a `pattern`."""

    def __init__(self, r: Tensor, products: Tensor, pattern: Any) -> None:
        super().__init__(r)
        self._pattern = pattern
        self._entries = gather(reshape(products, (-1,)), pattern.places)
        self.norms = sqrt(self._by_columns(self._entries * self._entries))

    def _by_columns(self, entries: Tensor) -> Tensor:
        summed: Tensor = unsorted_segment_sum(entries, self._pattern.columns, self._pattern.shape[1])
        return summed

    def push(self, step: Tensor) -> Tensor:
        """Return J times a vector of parameters."""
        entries = self._entries * gather(step, self._pattern.columns)
        pushed: Tensor = unsorted_segment_sum(entries, self._pattern.rows, self._pattern.shape[0])
        return pushed

    def pull(self, cotangent: Tensor) -> Tensor:
        """Return the transpose of J times a vector of residuals."""
        return self._by_columns(self._entries * gather(cotangent, self._pattern.rows))

    def solved(self, damping: Tensor, residuals: Tensor | None = None) -> Solved:
        """Return the step, its product with the inverse of the damped normal matrix, and whether that is regular."""
        given = where(self.free, 1.0 / self.scale, zeros_like(self.scale))
        entries = self._entries * gather(given, self._pattern.columns)
        r = self.r if residuals is None else residuals
        found = _sparse_step(entries, r, self._fixed(damping), pattern=self._pattern)
        return found[:-1], found[-1], tensor(True)


@op(
    "SparseLeastSquaresStep",
    unhosted="it calls SciPy itself",
    infer=lambda entries, r, d, pattern: aval((d.shape[0] + 1,), d.dtype),
)
def _sparse_step(entries, r, damping, *, pattern):
    """Return the p that minimises ‖r + J·p‖² + Σ damping·p², and its product with the inverse of the normal matrix.

    Steps solve the augmented system [[I, J], [Jᵀ, −damping]], whose condition is that of the Jacobian: Björck, "Numerical Methods
    for Least Squares Problems" (1996), section 2.5. SuperLU factorises it.
    """

    def solve(entries, r, damping):
        from scipy import sparse
        from scipy.sparse import linalg

        results, count = pattern.shape
        if not np.isfinite(entries).all():
            return np.full(count + 1, np.nan)
        jacobian = sparse.csr_array((entries, (pattern.rows, pattern.columns)), pattern.shape)
        above = [sparse.eye_array(results), jacobian]

        def factors(damping):
            return linalg.splu(sparse.block_array([above, [jacobian.T, sparse.diags_array(-damping)]], format="csc"))

        try:
            found = factors(damping)
        except RuntimeError:  # singular: damping above the rounding error of columns of length 1
            found = factors(damping + EPS)
        p = found.solve(np.concatenate([-r, np.zeros(count)]))[results:]
        again = found.solve(np.concatenate([np.zeros(results), -p]))[results:]
        return np.append(p, np.dot(p, again))

    return by_numpy(solve, (damping.shape[0] + 1,), entries, r, damping)


not_differentiable(_sparse_step, because="it stands in the search of a fit, which has no gradient")


class MatrixFree(Model):
    """The model by products with its Jacobian alone. `probes`: random signs, to estimate the column norms.

    `step` solves by conjugate gradients on the normal equations in the form that keeps the residuals (CGLS: Björck, "Numerical
    Methods for Least Squares Problems" (1996), section 7.4). `within` stops them at the radius (Steihaug, "The conjugate
    gradient method and trust regions in large scale optimization" (1983)). The norms are estimated as Bekas, Kokiopoulou and
    Saad do, "An estimator for the diagonal of a matrix" (2007).
    """

    def __init__(
        self,
        r: Tensor,
        push: Callable[[Tensor], Tensor],
        pull: Callable[[Tensor], Tensor],
        probes: Tensor,
        accuracy: Tensor,
        most: Tensor,
    ) -> None:
        super().__init__(r)
        self._push, self._pull, self._accuracy, self._most = push, pull, accuracy, most
        count = extents_of(probes)[0]

        def probe(i: Any, total: Any) -> Any:
            pulled = pull(probes[i])
            return i + 1, total + pulled * pulled

        self.norms = sqrt(while_loop(lambda i, _: i < count, probe, (0, 0.0 * pull(r)))[1] / count)

    def push(self, step: Tensor) -> Tensor:
        """Return J times a vector of parameters."""
        return self._push(step)

    def pull(self, cotangent: Tensor) -> Tensor:
        """Return the transpose of J times a vector of residuals."""
        return self._pull(cotangent)

    @property
    def cosine(self) -> Tensor:
        """The gradient's largest element over the residuals' norm; 0 where the gradient is 0."""
        length = norm(self.r)
        largest = reduce_max(abs(self.gradient))
        return where(length > 0.0, largest / where(length > 0.0, length, 1.0), 0.0 * length)

    def within(self, radius: Tensor, damping: Tensor) -> tuple[Tensor, Tensor]:
        """Return the step at which conjugate gradients leave the radius or converge."""
        return self._steps(0.0 * damping, radius, None), 0.0 * damping

    def step(self, damping: Tensor, residuals: Tensor | None = None) -> Tensor:
        """Return the step p that minimises ‖r + J·p‖² + damping·‖p‖², to the accuracy asked for."""
        return self._steps(damping, tensor(np.inf, damping.dtype), residuals)

    def _steps(self, damping: Tensor, radius: Tensor, residuals: Tensor | None) -> Tensor:
        left = -(self.r if residuals is None else residuals)
        down = -self.gradient if residuals is None else self.pulled(left)
        start = reduce_sum(down * down)

        def step(i: Any, p: Any, left: Any, direction: Any, steepness: Any, _: Any) -> Any:
            pushed = self.push(direction / self.scale)
            curvature = reduce_sum(pushed * pushed) + damping * reduce_sum(direction * direction)
            flat = curvature <= TINY
            length = where(flat, 0.0 * curvature, steepness / where(flat, 1.0 + 0.0 * curvature, curvature))
            outside = norm(p + length * direction) > radius
            length = where(outside, _to_the_edge(p, direction, radius), length)
            p, left = p + length * direction, left - length * pushed
            down = self.pulled(left) - damping * p
            after = reduce_sum(down * down)
            following = down + after / steepness * direction
            return i + 1, p, left, following, after, flat | outside

        def goes_on(i: Any, p: Any, left: Any, direction: Any, steepness: Any, done: Any) -> Any:
            return logical_and(logical_and(i < self._most, ~done), steepness > self._accuracy**2 * start)

        return while_loop(goes_on, step, (0, 0.0 * down, left, down, start, False))[1]


def _to_the_edge(p: Tensor, direction: Tensor, radius: Tensor) -> Tensor:
    """Return the t ≥ 0 at which ‖p + t·direction‖ is the radius."""
    a, b = reduce_sum(direction * direction), reduce_sum(p * direction)
    c = reduce_sum(p * p) - radius**2
    return (-b + sqrt(maximum(b * b - a * c, 0.0))) / a
