"""The search of a fit as one `While`: each trip evaluates a trial point, accepts or rejects it, and proposes the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.control.built import built, called
from gradtape._src.control.loop import while_loop
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node, Program
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import one_hot, ones_like, zeros_like
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims
from gradtape._src.ops.linalg.diagonals import diag_part
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.math.arithmetic import maximum, minimum
from gradtape._src.ops.math.compare import equal, is_finite, logical_and, logical_not, logical_or
from gradtape._src.ops.math.reduction import reduce_all, reduce_sum
from gradtape._src.optimizers.least_squares.damping import RULES, Limit, Tried, norm
from gradtape._src.optimizers.least_squares.models import Dense, MatrixFree, Model, Sparse
from gradtape._src.optimizers.least_squares.residuals import Residuals

PROBES = 4  # products per iteration by which the matrix-free solver estimates the Jacobian's column norms
HISTORY = 128  # iterations of one call of the Program, at most
SHORTENED = 128  # reductions of one step with a large second-order correction, at most
LARGEST_CORRECTION = 0.75  # relative to the step: Transtrum and Sethna (2012), equation (15)
WIDE = np.dtype(np.float64)
ON, FLAT, SHORT, LEAST, STUCK, NOT_FINITE, OVER = map(np.float64, range(7))  # a search runs (ON), or has ended for a reason


class SearchState(NamedTuple):
    """The state of a search: the best point `x`, and the next point `trial`.

    `table`: the result of `evaluated` at `x`, residuals last. `predicted`, `length`, `slope`: of the step to `trial`. `history`:
    the cost at the beginning of each iteration of the current call, NaN in other trips.
    """

    x: Any
    trial: Any
    table: Any
    scale: Any
    history: Any
    limit: Limit
    cost: Any
    first: Any  # the cost at the start
    cosine: Any
    predicted: Any
    length: Any
    slope: Any
    iterations: Any
    evaluations: Any
    ended: Any

    @classmethod
    def of(cls, parts: Sequence[Any]) -> SearchState:
        """Return the state with these flat `parts`."""
        at, width = cls._fields.index("limit"), len(Limit._fields)
        return cls._make([*parts[:at], Limit._make(parts[at : at + width]), *parts[at + width :]])

    @property
    def parts(self) -> list[Any]:
        """The parts, flat."""
        return nest.flatten(tuple(self))


class Reached(NamedTuple):
    """The state as input and result of a search's Program, packed into three arrays, which are quick to pass.

    `points`: the best and the next one. `numbers`: the scale, the history, and the scalars of `SearchState`.
    """

    points: Any
    table: Any
    numbers: Any

    def state(self) -> SearchState:
        """Unpack the state, as tensors or arrays; all scalars have one dtype."""
        at = self.points.shape[-1]
        x, trial = self.points[..., 0, :], self.points[..., 1, :]
        scale, history = self.numbers[..., :at], self.numbers[..., at : at + HISTORY]
        scalars = [self.numbers[..., i] for i in range(at + HISTORY, self.numbers.shape[-1])]
        return SearchState.of([x, trial, self.table, scale, history, *scalars])


SCALARS = len(SearchState._fields) - SearchState._fields.index("limit") - 1 + len(Limit._fields)


class Options(NamedTuple):
    """The numeric options of a search, an input of its Program."""

    function_tolerance: Any
    step_tolerance: Any
    gradient_tolerance: Any
    initial: Any  # initial radius or damping of the rule
    iterations: Any  # at most
    cg_tolerance: Any
    cg_iterations: Any
    trips: Any  # of a call, at most


class Search(NamedTuple):
    """A kind of search: its `rule` of the damping, and its `solver`: "dense", "sparse" or "matrix_free".

    `boxed`: whether there are bounds. `pattern`: of a sparse Jacobian.
    """

    rule: str
    solver: str
    geodesic: bool
    boxed: bool
    pattern: Any

    def start(self, residuals: Residuals, x: np.ndarray) -> Reached:
        """Return the state before the first call, from the starting values."""

        def blank() -> list[Node]:  # they move to the device once
            rows = {"dense": residuals.size, "sparse": self.pattern and self.pattern.products, "matrix_free": 0}[self.solver]
            table = np.zeros((*x.shape[:-1], rows + 1, residuals.results), x.dtype)
            return [tensor(part).node for part in (table, np.zeros((*x.shape[:-1], residuals.size + HISTORY + SCALARS), WIDE))]

        known = residuals.kept(("start", self.solver, self.pattern, x.shape), blank)
        return Reached(np.stack([x, x], -2), *map(engine.argument, known))

    def inputs(self, residuals: Residuals, low: Any, high: Any) -> list[Any]:
        """Return the arguments of the Program after the options."""
        given = [low, high] if self.boxed else []
        if self.solver == "matrix_free":
            signs = np.random.default_rng(0).choice([-1.0, 1.0], (PROBES, residuals.results))
            given.append(signs.astype(residuals.dtype))
        elif self.solver == "sparse":
            given.append(self.pattern.seeds(residuals.dtype))
        return [*given, *residuals.others]

    def program(self, residuals: Residuals, given: Sequence[Any]) -> Program:
        """Return the Program of some trips: (state…, options, `inputs`…) → new state."""

        def run(*inputs: Tensor) -> list[Tensor]:
            reached = Reached(*inputs[: len(Reached._fields)])
            return Trips(self, residuals, inputs[len(reached) :]).run(reached)

        def make() -> Program:
            each = [residuals.count is not None] * len(Reached._fields)
            each += [False, *self._each(residuals)]
            one = built(run, [aval(x.shape[e:], x.dtype) for x, e in zip(given, each, strict=True)])
            return one if residuals.count is None else _vectorized(one, each, given)

        return residuals.kept((self, residuals.count), make)

    def _each(self, residuals: Residuals) -> list[bool]:
        """Return for each of `inputs` whether it has a row for each fit of a batch."""
        batch = residuals.count is not None
        vectors = [False] if self.solver != "dense" else []
        return [*([batch, batch] if self.boxed else []), *vectors, *[not shared for shared in residuals.shared]]


def _vectorized(program: Program, each: Sequence[bool], given: Sequence[Any]) -> Program:
    """Return the Program of a batch."""

    def run(*inputs: Tensor) -> list[Tensor]:
        return [EagerTensor(n) for n in call_vectorized(program, [x.node for x in inputs], each)]

    return built(run, [aval(x.shape, x.dtype) for x in given])


def gram_of(table: Tensor) -> Tensor:
    """Return the products of all rows of a table."""
    wide = cast(table, WIDE)
    products: Tensor = matmul(wide, wide, transpose_b=True)
    return products


def squares_of(table: Tensor) -> Tensor:
    """Return the sums of the squares of the rows of a table."""
    squares: Tensor = reduce_sum(cast(table, WIDE) ** 2, 1)
    return squares


class Trips:
    """The trips of a search, recorded as ops; `given` are the tensors of the options and of `Search.inputs`."""

    def __init__(self, search: Search, residuals: Residuals, given: Sequence[Tensor]) -> None:
        self.search, self.residuals, self.rule = search, residuals, RULES[search.rule]
        options, *rest = given
        self.options = Options(*[options[i] for i in range(len(Options._fields))])
        self.box = [rest.pop(0), rest.pop(0)] if search.boxed else None
        self.vectors: Any = rest.pop(0) if search.solver != "dense" else None
        self.others = rest
        self.smallest = float(np.finfo(residuals.dtype).eps)

    def run(self, reached: Reached) -> list[Tensor]:
        """Record the loop; return the packed state after it."""

        def goes_on(i: Any, gram: Any, *parts: Any) -> Any:
            return logical_and(i < cast(self.options.trips, i.dtype), equal(SearchState.of(parts).ended, ON))

        def trip(i: Any, gram: Any, *parts: Any) -> Any:
            state, gram = self.trip(SearchState.of(parts), gram, i)
            return i + 1, gram, *[cast(part, old.dtype) for part, old in zip(state.parts, parts, strict=True)]

        start = (0, self.products(reached.table), *reached.state().parts)
        x, trial, table, scale, history, *scalars = while_loop(goes_on, trip, start, maximum_iterations=HISTORY)[2:]
        return [stack([x, trial]), table, concat([scale, history, stack(scalars)], 0)]

    def trip(self, now: SearchState, gram: Tensor, i: Tensor) -> tuple[SearchState, Tensor]:
        """Evaluate the residuals at the trial point, and move there if it is better; then propose the next one.

        `gram` has the `products` of the table, as a parameter and in the result.
        """
        start = equal(now.evaluations, 0.0)
        table = self.evaluated(now.trial)
        products = self.products(table)
        squares = diag_part(products) if self.search.solver == "dense" else products
        cost, finite = squares[-1], reduce_all(is_finite(squares))
        tried = self.judged(now, where(finite, cost, np.inf))
        limit, taken = self.rule.learn(now.limit._replace(fresh=now.limit.fresh > 0.0), tried)
        taken = logical_or(start, taken)
        x, kept, gram = where(taken, now.trial, now.x), where(taken, table, now.table), where(taken, products, gram)
        best, first = where(taken, cost, now.cost), where(start, cost, now.first)
        ended = where(start, where(finite, ON, NOT_FINITE), self.ended(now, tried, taken, x, best))

        model = self.model(x, kept, gram)
        scale = maximum(now.scale, model.norms)
        scale = where(scale > 0.0, scale, ones_like(scale))
        model.scaled(scale, self.free(model, x))
        begun = self.rule.begin(scale * cast(x, WIDE), self.options.initial)
        limit = Limit(*[where(start, a, b) for a, b in zip(begun, limit, strict=True)])

        over = now.iterations >= self.options.iterations
        ended = where(logical_and(logical_and(taken, over), equal(ended, ON)), OVER, ended)
        counted = logical_and(taken, equal(ended, ON))
        here = one_hot(i, HISTORY, on_value=True, off_value=False)
        history = where(here, where(counted, best, np.nan), where(i > 0, now.history, now.history * np.nan))
        cosine = model.cosine
        least = logical_or(cosine <= self.options.gradient_tolerance, best <= 0.0)
        ended = where(logical_and(counted, least), FLAT, ended)

        trial, step, limit = self.proposed(model, x, limit)
        moved = (cast(self.moved(x, step / scale), WIDE) - cast(x, WIDE)) * scale  # the step within the bounds, scaled
        pushed = model.push(moved / scale)
        predicted = -2.0 * reduce_sum(model.gradient * moved) - reduce_sum(pushed * pushed)
        numbers = predicted, norm(step), reduce_sum(model.gradient * step)
        counts = now.iterations + cast(counted, WIDE), now.evaluations + 1.0
        return SearchState(x, trial, kept, scale, history, limit, best, first, cosine, *numbers, *counts, ended), gram

    def products(self, table: Tensor) -> Tensor:
        """Return the inner products of the rows of a table: all pairs for a dense model, else of each row with itself."""
        return gram_of(table) if self.search.solver == "dense" else squares_of(table)

    def free(self, model: Model, x: Tensor) -> Tensor:
        """Return a mask of the free parameters: those at a bound are fixed if the step would lead outwards."""
        down = model.down
        if self.box is None:
            free: Tensor = ones_like(down, dtypes.bool)
            return free
        low, high = self.box
        below, above = cast(x, WIDE) <= low, cast(x, WIDE) >= high
        return logical_not(logical_or(logical_and(below, down >= 0.0), logical_and(above, down <= 0.0)))

    def judged(self, now: SearchState, after: Tensor) -> Tried:
        """Return the outcome of the step to the trial point, where the cost is `after`."""
        promised = now.predicted > 0.0
        ratio = (now.cost - after) / where(promised, now.predicted, 1.0)
        return Tried(where(promised, ratio, 0.0), now.length, now.slope, now.cost, after)

    def ended(self, now: SearchState, tried: Tried, taken: Tensor, x: Tensor, cost: Tensor) -> Tensor:
        """Return the state of the search after this step: running, or the reason for its end."""
        actual = abs(now.cost - tried.after)
        reduction = where(tried.ratio <= 2.0, maximum(actual, now.predicted), np.inf)
        short = now.length <= self.options.step_tolerance * norm(now.scale * cast(x, WIDE))
        small = reduction <= maximum(self.options.function_tolerance * cost, self.smallest * now.first)
        promised = logical_and(now.predicted >= 0.0, now.predicted <= self.smallest * cost)
        least = logical_or(reduction <= self.smallest * cost, logical_and(logical_not(taken), promised))
        stuck = logical_and(logical_not(taken), reduce_all(equal(now.trial, now.x)))
        state = where(stuck, STUCK, now.ended)
        return where(logical_and(short, small), SHORT, where(least, LEAST, state))

    def proposed(self, model: Model, x: Tensor, limit: Limit) -> tuple[Tensor, Tensor, Limit]:
        """Return the next trial point, the rule's scaled step to it, and the limit with the damping of that step."""
        if not self.search.geodesic:
            step, damping = self.rule.propose(model, limit)
            return self.moved(x, step / model.scale), step, limit._replace(damping=damping)
        cost = reduce_sum(model.r * model.r)

        def attempt(refused: Any, trial: Any, step: Any, *parts: Any) -> Any:
            limit = Limit(*parts)
            step, damping = self.rule.propose(model, limit)
            limit = limit._replace(damping=damping)
            bend = self.curvature(x, step / model.scale)
            known = reduce_all(is_finite(bend))
            correction = model.step(damping, where(known, bend, zeros_like(bend)))
            refused = logical_not(2.0 * norm(correction) <= LARGEST_CORRECTION * norm(step))
            slope = reduce_sum(model.gradient * step)
            shorter, _ = self.rule.learn(limit, Tried(0.0 * cost, norm(step), slope, cost, cost))
            limit = Limit(*[where(refused, a, b) for a, b in zip(shorter, limit, strict=True)])
            return (refused, self.moved(x, (step + 0.5 * correction) / model.scale), step, *limit)

        state = (True, x, 0.0 * model.scale, *limit)
        _, trial, step, *parts = while_loop(lambda refused, *_: refused, attempt, state, maximum_iterations=SHORTENED)
        return trial, step, Limit(*parts)

    def moved(self, x: Tensor, step: Tensor) -> Tensor:
        """Return the point after a step, projected onto the bounds."""
        there = cast(x, WIDE) + step
        if self.box is not None:
            there = minimum(maximum(there, self.box[0]), self.box[1])
        return cast(there, x.dtype)

    def evaluated(self, x: Tensor) -> Tensor:
        """Return a table at `x`: rows for the model, such as the Jacobian's, then the residuals."""
        if self.search.solver == "matrix_free":
            return expand_dims(called(self.residuals.alone, x, *self.others), 0)
        if self.search.solver == "dense":
            return called(self.residuals.table(), x, *self.others)
        return called(self.residuals.table(self.search.pattern.products), x, *self.others, self.vectors)

    def model(self, x: Tensor, table: Tensor, gram: Tensor) -> Model:
        """Return the linear model at `x`."""
        wide = cast(table, WIDE)
        if self.search.solver == "dense":
            return Dense(wide[-1], wide[:-1], gram)
        if self.search.solver == "sparse":
            return Sparse(wide[-1], wide[:-1], self.search.pattern)

        def product(program: Program) -> Callable[[Tensor], Tensor]:
            return lambda v: cast(called(program, x, *self.others, cast(v, x.dtype)), WIDE)

        push, pull = product(self.residuals.pushing), product(self.residuals.pulling)
        return MatrixFree(
            wide[-1], push, pull, self.vectors, self.options.cg_tolerance, cast(self.options.cg_iterations, np.int32)
        )

    def curvature(self, x: Tensor, direction: Tensor) -> Tensor:
        """Return the second derivative of the residuals along a direction."""
        return cast(called(self.residuals.curving, x, *self.others, cast(direction, x.dtype)), WIDE)
