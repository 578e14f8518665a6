"""Levenberg-Marquardt: nonlinear least squares."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, execution
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.optimizers.least_squares.damping import RULES
from gradtape._src.optimizers.least_squares.losses import check_loss
from gradtape._src.optimizers.least_squares.residuals import Residuals
from gradtape._src.optimizers.least_squares.search import (
    FLAT,
    HISTORY,
    LEAST,
    NOT_FINITE,
    ON,
    OVER,
    SHORT,
    STUCK,
    Options,
    Reached,
    Search,
    SearchState,
)
from gradtape._src.optimizers.least_squares.statistics import Statistics

MANY_PARAMETERS = 2_000  # number of parameters above which "auto" is matrix-free
NUMBERS = 10_000_000  # elements of all Jacobians in the first call of a search; a longer call would delay an interrupt
PATIENCE = 0.25  # seconds of a call, above which the next one makes fewer trips
CONVERGED = (FLAT, SHORT, LEAST)
MESSAGES: dict[float, str] = {
    FLAT: "the gradient is 0 to gradient_tolerance",
    SHORT: "the step and the reduction are below their tolerances",
    LEAST: "the sum of squares is least, to the precision of its dtype",
    STUCK: "no step makes the sum of squares smaller, however small",
    OVER: "max_iterations, {limit}, are over",
}
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
        """The covariance of the parameters, s²·(JᵀJ)⁻¹, or None. It is computed on access."""
        return self._statistics.covariance()

    @cached_property
    def undetermined(self) -> np.ndarray | None:
        """Directions in which the residuals do not change, or None. They are computed on access."""
        return self._statistics.undetermined()

    @property
    def standard_errors(self) -> np.ndarray | None:
        """The roots of the diagonal of `covariance`."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))

    @public
    def band(self, function: Callable[[], Any], level: float = 0.95, observations: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the predictions of `function()` from the fitted variables, and the half-widths of their bands.

        `function` takes no arguments and returns one floating tensor. Each band covers the true value of the model with the
        probability `level`, or a new observation with `observations`. It is linear in the errors of the parameters, with
        quantiles of Student's distribution. Call it before the variables change. Without a `covariance`, a ValueError names the
        first direction in which the residuals do not change.

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
        """Change `variables` to minimise the sum of squares of the residuals that `residual_fn()` returns.

        `residual_fn` takes nothing, and returns a tensor or a nest of tensors, real and floating-point, not a single number.
        A fit is one loop, compiled once for a call; with a `tf.function` once for all. `variables`: a nest of floating variables;
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
        residuals = Residuals(residual_fn, variables, weights, loss, loss_scale)
        return _Fit(self, residuals, bounds, pattern).run()[0]

    @public
    def minimize_batch(
        self,
        residual_fn: Callable[..., Any],
        variables: Any,
        *data: Any,
        bounds: Sequence[Any] | None = None,
        weights: Any = None,
        loss: str = "squares",
        loss_scale: float = 1.0,
    ) -> list[LeastSquaresResult]:
        """Fit one model to many sets of data, all in one compiled program; return the result of each.

        The first axis of each of `variables`, and of each array of `data`, counts the fits. `residual_fn(values, *data)` is the
        function of one fit: it takes a nest like `variables` and a row of each array, and returns its residuals. Other tensors
        that it uses are the same for all. Each fit stops for itself, as `minimize` would.

        Other arguments and errors are those of `minimize`. `bounds` are numbers, or arrays that broadcast to a variable's whole
        shape. `weights` broadcast to the residuals of all fits: 0 leaves out what a shorter set of data lacks. A fit that cannot
        start is a ValueError with its number, and then no variable changes. `band` of a result takes a function of its own rows.

        >>> x = tf.constant([0.0, 1.0, 2.0, 3.0])
        >>> y = tf.constant([[2.0, 1.0, 0.5, 0.25], [1.0, 2.0, 4.0, 8.0]])
        >>> b = tf.Variable(tf.ones([2, 2]))
        >>> found = tf.optimizers.LevenbergMarquardt().minimize_batch(lambda b, y: b[0] * 2.0 ** (b[1] * x) - y, b, y)
        >>> print([result.converged for result in found], b.numpy().round(4).tolist())
        [True, True] [[2.0, -1.0], [1.0, 1.0]]
        """
        check_loss(loss, loss_scale)
        return _Fit(self, Residuals(residual_fn, variables, weights, loss, loss_scale, data), bounds, None).run()

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


class _Fit:
    """One minimisation: calls the Program of its search until the search has ended."""

    def __init__(self, settings: LevenbergMarquardt, residuals: Residuals, bounds: Sequence[Any] | None, pattern: Any) -> None:
        self.residuals = residuals
        low, high = (None, None) if bounds is None else _box(bounds, residuals.variables, residuals.count)
        self.x = residuals.start()
        if bounds is not None:
            self.x = np.clip(self.x, low, high).astype(residuals.dtype)
        auto = settings.solver == "auto" and pattern is None and residuals.size <= MANY_PARAMETERS and residuals.fits()
        dense = auto or settings.solver == "dense"
        if dense and not auto:
            residuals.check_memory()
        if pattern is not None:
            _check_pattern(pattern, residuals, self.x, settings.solver)
            pattern = pattern.by_columns
        solver = "sparse" if pattern is not None else "dense" if dense else "matrix_free"
        self.search = Search(settings.damping, solver, settings.geodesic_acceleration, bounds is not None, pattern)
        self.smallest = float(np.finfo(residuals.dtype).eps)
        limit = 1_000 * (residuals.size + 1) if settings.max_iterations is None else settings.max_iterations
        initial = RULES[settings.damping].first if settings.initial is None else settings.initial
        tolerances = [max(t, self.smallest) for t in settings.tolerances]
        self.options = Options._make([*tolerances, initial, limit, *settings.cg, 0])
        self.limit, self.given = limit, self.search.inputs(residuals, low, high)

    def run(self) -> list[LeastSquaresResult]:
        """Search until a tolerance is met, and assign the best points to the variables, also after an interrupt."""
        residuals, reached = self.residuals, self.search.start(self.residuals, self.x)
        state, going = None, np.full(residuals.count or 1, True)
        trips, histories = min(HISTORY, max(1, NUMBERS // reached.table.size)), [[] for _ in going]
        try:
            while going.any():
                begun = time.monotonic()
                given = [*reached, engine.argument(_numbers(self.options._replace(trips=trips))), *self.given]
                reached = Reached(*execution.execute(self.search.program(residuals, given), given))
                points, numbers = np.asarray(reached.points), np.asarray(reached.numbers)
                after = reached._replace(points=points, numbers=numbers).state()
                self._check_start(after)
                state = after
                for row, history in enumerate(np.atleast_2d(state.history)):
                    histories[row] += history[history == history].tolist() if going[row] else []
                going = np.atleast_1d(state.ended) == ON
                trips = min(HISTORY, 2 * trips) if time.monotonic() - begun < PATIENCE else max(1, trips // 2)
        finally:
            if state is not None:
                residuals.assign(state.x)
        assert state is not None
        state = state._replace(table=np.asarray(state.table))
        if residuals.count is None:
            return [self._result(state, histories[0], None)]
        return [
            self._result(SearchState._make([None if part is state.limit else part[row] for part in state]), history, row)
            for row, history in enumerate(histories)
        ]

    def _result(self, state: SearchState, history: list[float], row: int | None) -> LeastSquaresResult:
        residuals, ended, cost = self.residuals, float(state.ended), float(state.cost)
        freedom = residuals.observations[row or 0] - residuals.size
        rounding = self.smallest * max(residuals.results, residuals.size)  # as in NumPy's `matrix_rank`
        rows = state.table[:-1] if self.search.solver == "dense" else None
        variance = cost / max(freedom, 1)
        return LeastSquaresResult(
            cost,
            ended in CONVERGED,
            MESSAGES[ended].format(limit=self.limit),
            int(state.iterations),
            int(state.evaluations),
            float(state.cosine),
            [*history, cost],
            Statistics(residuals.variables, rows, state.scale, variance, freedom, rounding, row),
        )

    def _check_start(self, state: SearchState) -> None:
        """Raise ValueError for a start where the residuals or their derivatives are not finite."""
        bad = np.flatnonzero(np.atleast_1d(state.ended) == NOT_FINITE)
        if not len(bad):
            return
        table = np.asarray(state.table)
        if self.residuals.count is None:
            raise ValueError(f"At the start {self._not_finite(table)}")
        raise ValueError(f"At the start of fit number {bad[0]} {self._not_finite(table[bad[0]])}")

    def _not_finite(self, table: np.ndarray) -> str:
        """Say what is not finite at the start, in words."""
        r, pattern = table[-1], self.search.pattern
        bad = np.flatnonzero(~np.isfinite(r))
        if len(bad):
            first = f"{len(bad)} of {len(r)} residuals are not finite, the first is number {bad[0]}: {r[bad[0]]}"
            return f"{first}. Start where the residuals are finite."
        if pattern is None:
            columns = np.flatnonzero(~np.isfinite(table[:-1]).all(1))
        else:
            columns = np.sort(pattern.columns[~np.isfinite(table[:-1].reshape(-1)[pattern.places])])
        if not len(columns):
            return (
                "the sum of the squares of the residuals, or of their derivatives, is not finite. Start where they are smaller."
            )
        return f"the derivative of the residuals with respect to {self.residuals.where(int(columns[0]))} is not finite."


@lru_cache(maxsize=64)
def _numbers(options: Options) -> Node:
    """Return options as an array, which is on the device once for many fits."""
    return tensor(np.array(options, np.float64)).node


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
    pattern, vector = pattern.by_columns, np.random.default_rng(0).standard_normal(residuals.size).astype(x.dtype)
    (table,) = execution.execute(residuals.table(pattern.products), [x, *residuals.others, pattern.seeds(x.dtype)])
    terms = np.asarray(table)[:-1].reshape(-1)[pattern.places] * vector[pattern.columns]
    product = residuals.push(x, vector)
    found, size = [np.bincount(pattern.rows, part, len(product)) for part in (terms, abs(terms))]
    near = math.sqrt(np.finfo(x.dtype).eps) * (size + abs(product))
    with np.errstate(invalid="ignore"):  # the search reports values that are not finite
        wrong = np.flatnonzero(abs(found - product) > near)
    if wrong.size:
        raise ValueError(
            f"pattern misses entries of this Jacobian: in {wrong.size} of {len(product)} rows, the first of them row {wrong[0]}. "
            "Find it by tf.autodiff.jacobian_sparsity(residual_fn, (), sources=variables)."
        )


def _box(bounds: Sequence[Any], variables: Sequence[Variable], count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds of all parameters, flat; in a batch of `count` fits one row for each."""
    given = list(bounds)
    if len(given) != len(variables):
        raise ValueError(f"bounds has {len(given)} entries for {len(variables)} variables: give a pair for each, or None.")
    lows, highs, rows = [], [], () if count is None else (count,)
    for variable, pair in zip(variables, given, strict=True):
        low, high = (-np.inf, np.inf) if pair is None else pair
        shape = tuple(variable.shape)
        try:
            low, high = [np.broadcast_to(np.asarray(b, np.float64), shape).reshape(*rows, -1) for b in (low, high)]
        except ValueError:
            raise ValueError(f"The bounds of {variable.name} must be numbers, or arrays of its shape {shape}.") from None
        if np.isnan(low).any() or np.isnan(high).any():
            raise ValueError(f"A bound of {variable.name} is NaN. Give -inf or inf where there is none.")
        if np.any(low > high):
            raise ValueError(f"The lower bound of {variable.name} is above its upper bound.")
        lows.append(low)
        highs.append(high)
    return np.concatenate(lows, -1), np.concatenate(highs, -1)
