"""Levenberg-Marquardt: nonlinear least squares."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gradtape._src.core import hooks
from gradtape._src.core.errors import public
from gradtape._src.core.nest import flatten
from gradtape._src.core.variable import Variable
from gradtape._src.optimizers.least_squares.damping import RULES, norm
from gradtape._src.optimizers.least_squares.losses import check_loss
from gradtape._src.optimizers.least_squares.models import ALL, Dense, MatrixFree, Sparse
from gradtape._src.optimizers.least_squares.residuals import Residuals, first_that_is_not_finite
from gradtape._src.optimizers.least_squares.statistics import Statistics

MANY_PARAMETERS = 2_000  # from here on "auto" is matrix-free
PROBES = 4  # products per iteration that the matrix-free solver estimates the Jacobian's column norms with
LARGEST_CORRECTION = 0.75  # of the second order beside the step: Transtrum and Sethna (2012), equation (15)
STUCK = "no step makes the sum of squares smaller"
SOLVERS = ("auto", "dense", "matrix_free")


@dataclass(frozen=True)
class LeastSquaresResult:
    """The result of a minimisation.

    - `sum_of_squares`: of the residuals, where it ended. `history`: after each iteration, the start first.
    - `converged`: whether a tolerance was met; `message` says which one, or why it stopped.
    - `iterations`: points at which the linear model was made. `evaluations`: of the residuals, steps not taken included.
    - `optimality`: the largest cosine of an angle between the residuals and a column of the Jacobian.
    - `covariance`: of the parameters in the order of the variables, flat: s²·(JᵀJ)⁻¹, where s² is the sum of squares over the
      degrees of freedom. None if the solver made no dense Jacobian, if JᵀJ is singular, or without a degree of freedom.
    - `undetermined`: the directions in which the residuals do not change, unit vectors of the parameters in rows: none of them if
      JᵀJ is regular. None if the solver made no dense Jacobian.

    >>> slope, x, y = tf.Variable(1.0), tf.constant([1.0, 2.0, 3.0]), tf.constant([2.1, 3.9, 6.0])
    >>> result = tf.optimizers.LevenbergMarquardt().minimize(lambda: slope * x - y, [slope])
    >>> print(result.converged, round(result.sum_of_squares, 4), result.standard_errors.round(3))
    True 0.0193 [0.026]
    """

    sum_of_squares: float
    converged: bool
    message: str
    iterations: int
    evaluations: int
    optimality: float
    history: list[float]
    _statistics: Statistics = field(repr=False, compare=False)

    @cached_property
    def covariance(self) -> np.ndarray | None:
        """Of the parameters: s²·(JᵀJ)⁻¹, or None. It is computed when it is asked for."""
        return self._statistics.covariance()

    @cached_property
    def undetermined(self) -> np.ndarray | None:
        """Directions in which the residuals do not change, or None. They are computed when they are asked for."""
        return self._statistics.undetermined()

    @property
    def standard_errors(self) -> np.ndarray | None:
        """The roots of the diagonal of `covariance`."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))

    @public
    def band(self, function: Callable[[], Any], level: float = 0.95, observations: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return what `function()` predicts from the fitted variables, and half the width of its band around that.

        `function` takes nothing and returns one floating tensor. With the probability `level` the band covers what the model is
        there, each value by itself; or what is observed there, with `observations`. It is linear in the errors of the
        parameters, with quantiles of Student's distribution. Call it before the variables change. ValueError without a
        `covariance`, with the first of the directions in which the residuals do not change.

        >>> slope, x, y = tf.Variable(1.0), tf.constant([1.0, 2.0, 3.0]), tf.constant([2.1, 3.9, 6.0])
        >>> result = tf.optimizers.LevenbergMarquardt().minimize(lambda: slope * x - y, [slope])
        >>> predicted, half = result.band(lambda: slope * tf.constant([10.0]))
        >>> print(predicted.round(2), half.round(2))
        [19.93] [1.13]
        """
        return self._statistics.band(function, self.covariance, level, observations)


class LevenbergMarquardt:
    """Minimises the sum of squares of residuals: `minimize(residual_fn, variables)`.

    - `damping`: "trust_region" (Moré 1978, as MINPACK and SciPy do), "nielsen" (1999) or "marquardt" (1963). `initial`: the
      first radius over the length of the starting values, or the first damping.
    - `solver`: "dense" makes the Jacobian and solves by Cholesky, or by QR where the normal equations are nearly singular;
      "matrix_free" needs only products with it, by conjugate gradients; "auto" chooses by the number of parameters.
    - `geodesic_acceleration`: adds to each step half of its second-order correction; where that is not small beside the step, a
      shorter one is tried (Transtrum and Sethna, "Improvements to the Levenberg-Marquardt algorithm for nonlinear
      least-squares minimization" (2012), section 3). It helps in narrow valleys.
    - `function_tolerance`, `step_tolerance`, `gradient_tolerance`: it has converged when the relative reduction of the sum of
      squares and the relative length of the step are both below, when `optimality` is below, or when the sum changes by no more
      than rounding.
    - `max_iterations`: None for 1,000 times the number of parameters and one more.

    >>> x = tf.constant([0.0, 1.0, 2.0, 3.0], tf.float64)
    >>> y = tf.constant([2.0, 1.2130613, 0.7357589, 0.4462603], tf.float64)
    >>> a, k = tf.Variable(1.0, dtype=tf.float64), tf.Variable(1.0, dtype=tf.float64)
    >>> found = tf.optimizers.LevenbergMarquardt().minimize(lambda: a * tf.exp(-k * x) - y, [a, k])
    >>> found.converged, round(float(a), 4), round(float(k), 4)
    (True, 2.0, 0.5)
    """

    @public
    def __init__(
        self,
        damping: str = "trust_region",
        solver: str = "auto",
        initial: float | None = None,
        geodesic_acceleration: bool = False,
        function_tolerance: float = 1e-8,
        step_tolerance: float = 1e-8,
        gradient_tolerance: float = 1e-8,
        max_iterations: int | None = None,
        cg_tolerance: float = 1e-3,
        cg_iterations: int = 200,
    ) -> None:
        if damping not in RULES:
            raise ValueError(f"damping must be one of {', '.join(map(repr, RULES))}, received {damping!r}.")
        if solver not in SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, received {solver!r}.")
        if initial is not None and not initial > 0:
            raise ValueError(f"initial must be positive, received {initial!r}.")
        tolerances = {
            "function_tolerance": function_tolerance,
            "step_tolerance": step_tolerance,
            "gradient_tolerance": gradient_tolerance,
            "cg_tolerance": cg_tolerance,
        }
        for name, value in tolerances.items():
            if not 0 <= value < 1:
                raise ValueError(f"{name} must be at least 0 and below 1, received {value!r}.")
        self.damping, self.solver, self.initial = damping, solver, initial
        self.geodesic_acceleration = geodesic_acceleration
        self.tolerances = (function_tolerance, step_tolerance, gradient_tolerance)
        self.max_iterations = max_iterations
        self.cg = (cg_tolerance, cg_iterations)

    @public
    def minimize(
        self,
        residual_fn: Callable[[], Any],
        variables: Any,
        bounds: Sequence[Any] | None = None,
        pattern: Any = None,
        weights: Any = None,
        loss: str = "squares",
        loss_scale: float = 1.0,
    ) -> LeastSquaresResult:
        """Change `variables` so that the sum of squares of what `residual_fn()` returns becomes least.

        `residual_fn` takes nothing, and returns a tensor or a nest of tensors, real and floating-point, not a single number.
        It is compiled, once for a call; a `tf.function` only once for all. `variables`: a nest of floating-point variables;
        they are assigned at the end, also after an interrupt. `bounds`: a pair `(lower, upper)` for each variable, each a number
        or an array of the variable's shape, or None; steps are projected onto the box (Kanzow, Yamashita and Fukushima,
        "Levenberg-Marquardt methods with strong local convergence properties for solving nonlinear equations with convex
        constraints" (2004)). `pattern`: that of a sparse Jacobian, `tf.autodiff.jacobian_sparsity(residual_fn, (),
        sources=variables)`. Its entries come from as many products as it has colours, steps from sparse factors; there is no
        covariance then. It is compared with one more product at the start, and a pattern that misses entries is a ValueError.

        `weights`: of the squares, as 1/σ²: a number or an array of the shape of the residuals, or for a nest of residuals one
        for each. One that is 0 leaves a residual out. `loss`: what takes the place of the squares r² of (weighted) residuals
        beyond `loss_scale`, here 1, so that outliers count less: "huber" 2|r| - 1, "soft_l1" 2(√(1 + r²) - 1) or "cauchy"
        log(1 + r²). `sum_of_squares` is their sum.

        Raises ValueError for a scalar, for residuals that are not finite at the start, for a variable on which they do not
        depend; ResourceExhaustedError if the Jacobian does not fit into memory.
        """
        check_loss(loss, loss_scale)
        residuals = Residuals(residual_fn, flatten(variables), weights, loss, loss_scale)
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far overflows, and is not taken
            return _Search(self, residuals, bounds, pattern).run()

    @public
    def for_keras(self) -> Any:
        """Create an optimizer for `model.compile(optimizer=…, loss="mse")`: in `fit`, each batch is one damped step on its
        errors.

        Layers run as in inference there, so that dropout and batch statistics do not stand between two evaluations; a step that
        makes the batch's errors larger is not taken. "trust_region" is Nielsen's rule. For models of at most some thousand
        parameters and batches of all, or many, examples. RuntimeError where Keras does not run on gradtape.
        """
        if hooks.clients.keras_least_squares is None:
            raise RuntimeError("Keras is not loaded on gradtape: use tf.keras, or import gradtape.keras before keras.")
        return hooks.clients.keras_least_squares(self)


class _Search:
    """One minimisation."""

    def __init__(self, settings: LevenbergMarquardt, residuals: Residuals, bounds: Sequence[Any] | None, pattern: Any) -> None:
        self.settings, self.residuals, self.pattern = settings, residuals, pattern
        kind, initial = RULES[settings.damping]
        self.rule: Any = kind(initial if settings.initial is None else settings.initial)
        auto = settings.solver == "auto" and pattern is None and residuals.size <= MANY_PARAMETERS and residuals.fits()
        self.dense = auto or settings.solver == "dense"
        if self.dense and not auto:
            residuals.check_memory()
        self.box = None if bounds is None else _box(bounds, residuals.variables)
        self.x = self._boxed(residuals.start())
        if pattern is not None:
            _check_pattern(pattern, residuals, self.x, settings.solver)
        self.scale = np.zeros(residuals.size)
        self.random: np.random.Generator | None = None
        self.smallest = float(np.finfo(residuals.dtype).eps)
        self.tolerances = [max(t, self.smallest) for t in settings.tolerances]
        self.evaluations = 0

    def run(self) -> LeastSquaresResult:
        """Iterate until a tolerance is met."""
        limit = self.settings.max_iterations
        limit = 1_000 * (self.residuals.size + 1) if limit is None else limit
        r, jacobian = self._evaluate(self.x)
        if not np.all(np.isfinite(r)):
            raise ValueError(f"At the start {first_that_is_not_finite(r)}. Start where the residuals are finite.")
        if not _is_finite(jacobian):
            places = jacobian.tocoo().row[~np.isfinite(jacobian.tocoo().data)] if self.pattern is not None else None
            first = np.argwhere(~np.isfinite(jacobian))[0][0] if places is None else places[0]
            where = self.residuals.where(int(first))
            raise ValueError(f"At the start the derivative of the residuals with respect to {where} is not finite.")
        cost, history = _squares(r), []
        self.first = cost
        message, iterations = None, 0
        try:
            while message is None and iterations < limit:
                iterations += 1
                history.append(cost)
                model = self._model(r, jacobian)
                if iterations == 1:
                    self.rule.begin(self.scale * self.x)
                if model.cosine <= self.tolerances[2] or cost == 0:
                    message = "the gradient is 0 to gradient_tolerance"
                    break
                r, jacobian, cost, message = self._iterate(model, r, jacobian, cost)
        finally:
            self.residuals.assign(self.x)
        model = self._model(r, jacobian)
        freedom = self.residuals.observations - self.residuals.size
        return LeastSquaresResult(
            cost,
            message is not None and not message.startswith(STUCK),
            message or f"max_iterations, {limit}, are over",
            iterations,
            self.evaluations,
            model.cosine,
            [*history, cost],
            Statistics(
                self.residuals.variables,
                jacobian if self.pattern is None else None,
                self.scale,
                cost / max(freedom, 1),
                freedom,
                self._rounding(),
            ),
        )

    def _iterate(self, model: Any, r: np.ndarray, jacobian: Any, cost: float) -> tuple[np.ndarray, Any, float, str | None]:
        """Try steps until one is taken, or none is left to try."""
        function_tolerance, step_tolerance, _ = self.tolerances
        while True:
            step = self.rule.propose(model)
            length = norm(step)
            whole = np.zeros(len(self.x))
            whole[model.free] = step
            x = self._moved(whole)
            taken_step = ((x - self.x.astype(np.float64, copy=False)) * self.scale)[model.free]
            if self.settings.geodesic_acceleration:
                corrected = self._corrected(model, whole)
                if corrected is None:
                    self.rule.learn(0.0, length, model, step, cost, cost)
                    continue
                x = self._moved(corrected)
            pushed = model.push(taken_step)
            predicted = -2 * float(model.gradient @ taken_step) - float(pushed @ pushed)
            new_r, new_jacobian = self._evaluate(x)
            after = _squares(new_r)
            if not math.isfinite(after) or not _is_finite(new_jacobian):
                after = math.inf
            actual = cost - after
            ratio = actual / predicted if predicted > 0 else 0.0
            taken = self.rule.learn(ratio, length, model, step, cost, after)
            reduction = max(abs(actual), predicted) if ratio <= 2 else math.inf
            if taken:
                self.x = x
                r, jacobian, cost = new_r, new_jacobian, after
            small = length <= step_tolerance * norm(self.scale * self.x)
            if small and reduction <= max(function_tolerance * cost, self.smallest * self.first):
                return r, jacobian, cost, "the step and the reduction are below their tolerances"
            if reduction <= self.smallest * cost:
                return r, jacobian, cost, "the sum of squares is least, to the precision of its dtype"
            if taken:
                return r, jacobian, cost, None
            if 0 <= predicted <= self.smallest * cost:
                return r, jacobian, cost, "the sum of squares is least, to the precision of its dtype"
            if np.array_equal(x, self.x):
                return r, jacobian, cost, f"{STUCK}, however small"

    def _evaluate(self, x: np.ndarray) -> tuple[np.ndarray, Any]:
        self.evaluations += 1
        if self.pattern is not None:
            return self.residuals.evaluate_sparse(x, self.pattern)
        return self.residuals.evaluate(x) if self.dense else (self.residuals.residuals(x), None)

    def _model(self, r: np.ndarray, jacobian: Any) -> Any:
        r = r.astype(np.float64, copy=False)
        if jacobian is not None:
            jacobian = jacobian.astype(np.float64, copy=False)
        if self.pattern is not None:
            norms = np.sqrt(np.asarray((jacobian * jacobian).sum(axis=1)).reshape(-1))
        else:
            norms = self._column_norms() if jacobian is None else np.sqrt(np.einsum("ij,ij->i", jacobian, jacobian))
        self.scale = np.maximum(self.scale, norms)
        self.scale[self.scale == 0] = 1.0
        free: Any = ALL
        if self.box is not None:
            free = self._free(self.residuals.pull(self.x, r.astype(self.x.dtype)) if jacobian is None else jacobian @ r)
        if jacobian is not None:
            return (Dense if self.pattern is None else Sparse)(r, jacobian, norms, self.scale, free)
        return MatrixFree(self.residuals, self.x, r, self.scale, free, *self.settings.cg)

    def _rounding(self) -> float:
        """Return the largest singular value of the scaled Jacobian that rounding alone may give, as in NumPy's `matrix_rank`."""
        return self.smallest * max(self.residuals.results, self.residuals.size)

    def _column_norms(self) -> np.ndarray:
        """Estimate the Jacobian's column norms, by products of its transpose with random signs.

        Bekas, Kokiopoulou and Saad, "An estimator for the diagonal of a matrix" (2007).
        """
        self.random = self.random or np.random.default_rng(0)
        signs = self.random.choice([-1.0, 1.0], (PROBES, self.residuals.results)).astype(self.x.dtype)
        pulled = np.stack([self.residuals.pull(self.x, u).astype(np.float64) for u in signs])
        norms: np.ndarray = np.sqrt(np.mean(pulled**2, axis=0))
        return norms

    def _free(self, gradient: np.ndarray) -> np.ndarray:
        """Return the parameters that are not at a bound with a gradient that pushes outwards."""
        assert self.box is not None
        low, high = self.box
        held: np.ndarray = ((self.x <= low) & (gradient >= 0)) | ((self.x >= high) & (gradient <= 0))
        return ~held

    def _moved(self, step: np.ndarray) -> np.ndarray:
        return self._boxed(self.x + step / self.scale)

    def _boxed(self, x: np.ndarray) -> np.ndarray:
        return (x if self.box is None else np.clip(x, *self.box)).astype(self.residuals.dtype, copy=False)

    def _corrected(self, model: Any, step: np.ndarray) -> np.ndarray | None:
        """Return a scaled step with half of its second-order correction; None where that is large, for a shorter step."""
        bend = self.residuals.curvature(self.x, (step / self.scale).astype(self.x.dtype)).astype(np.float64)
        if np.isfinite(bend).all():
            correction = np.zeros(len(step))
            correction[model.free] = model.step(self.rule.damping, bend)
            return step + 0.5 * correction if 2 * norm(correction) <= LARGEST_CORRECTION * norm(step) else None
        return step


def _is_finite(jacobian: Any) -> bool:
    """Return whether all entries of a Jacobian, if there is one, are finite."""
    return jacobian is None or bool(np.isfinite(jacobian if isinstance(jacobian, np.ndarray) else jacobian.data).all())


def _check_pattern(pattern: Any, residuals: Residuals, x: np.ndarray, solver: str) -> None:
    """Raise an error for what is no pattern of the Jacobian at `x`: one product with random numbers tells missing entries."""
    if not all(hasattr(pattern, name) for name in ("by_columns", "places", "products")):
        raise TypeError(f"pattern must come from tf.autodiff.jacobian_sparsity, received {pattern!r}.")
    if solver != "auto":
        raise ValueError(f"solver must be 'auto' with a pattern, received {solver!r}.")
    if pattern.shape != (residuals.results, residuals.size):
        raise ValueError(
            f"pattern is for a Jacobian of shape {pattern.shape}, and this one has shape {(residuals.results, residuals.size)}."
        )
    vector = np.random.default_rng(0).standard_normal(residuals.size).astype(x.dtype)
    _, rows = residuals.evaluate_sparse(x, pattern)
    product, found, size = residuals.push(x, vector), vector @ rows, abs(vector) @ abs(rows)
    wrong = np.flatnonzero(abs(found - product) > math.sqrt(np.finfo(x.dtype).eps) * (size + abs(product)))
    if wrong.size:
        raise ValueError(
            f"pattern misses entries of this Jacobian: in {wrong.size} of {len(product)} rows, the first of them row {wrong[0]}. "
            "Find it by tf.autodiff.jacobian_sparsity(residual_fn, (), sources=variables)."
        )


def _squares(r: np.ndarray) -> float:
    """Return the sum of squares, in double precision."""
    r = r.astype(np.float64, copy=False)
    return float(r @ r)


def _box(bounds: Sequence[Any], variables: Sequence[Variable]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds of all parameters, flat."""
    given = list(bounds)
    if len(given) != len(variables):
        raise ValueError(f"bounds has {len(given)} entries for {len(variables)} variables: give a pair for each, or None.")
    lows, highs = [], []
    for variable, pair in zip(variables, given, strict=True):
        low, high = (-np.inf, np.inf) if pair is None else pair
        shape = tuple(variable.shape)
        try:
            low, high = [np.broadcast_to(np.asarray(b, np.float64), shape).reshape(-1) for b in (low, high)]
        except ValueError:
            raise ValueError(f"The bounds of {variable.name} must be numbers, or arrays of its shape {shape}.") from None
        if np.isnan(low).any() or np.isnan(high).any():
            raise ValueError(f"A bound of {variable.name} is NaN. Give -inf or inf where there is none.")
        if np.any(low > high):
            raise ValueError(f"The lower bound of {variable.name} is above its upper bound.")
        lows.append(low)
        highs.append(high)
    return np.concatenate(lows), np.concatenate(highs)
