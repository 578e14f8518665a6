"""Ordinary differential equations, with derivatives of any order with respect to all inputs of a solution.

Steps are those of Dormand and Prince, "A family of embedded Runge-Kutta formulae" (1980). A solution is one `While`, so its
gradient is the discrete adjoint, exact for the steps taken. It treats their lengths as constants; this derivative converges to
that of the solution. See Eberhard and Bischof, "Automatic differentiation of numerical integration algorithms" (1999).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Operation, vjp_program
from gradtape._src.autodiff.vectorized import call_vectorized
from gradtape._src.control.built import built, called
from gradtape._src.control.loop import while_loop
from gradtape._src.control.mapping import carry_rows
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.op import define
from gradtape._src.core.programs.program import Node, Program, memoized
from gradtape._src.core.programs.structured import arity, by_program
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.derivatives.evaluation import check_count
from gradtape._src.derivatives.implicit import root
from gradtape._src.derivatives.linear_solve import Unknowns, checked
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import zeros_like
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, ones, stop_gradient, zeros
from gradtape._src.ops.math.arithmetic import maximum, minimum, sign, sqrt
from gradtape._src.ops.math.compare import is_finite, logical_and, logical_not
from gradtape._src.ops.math.reduction import reduce_min, reduce_sum

NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
WEIGHTS = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# Dense output within a step: Hairer, Nørsett and Wanner, "Solving Ordinary Differential Equations I" (1993), section II.6.
BETWEEN = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
BISECTIONS = 40


class Guarded(NamedTuple):
    """The attributes of the op of a guarded step: (whether the step is sound, inputs…) → results.

    `program` computes the results. The gradient is that of `function` of the inputs, and zero if the step is not sound.
    `judged`: a result that has to be finite in a sound step, if any.
    """

    program: Program
    function: Program
    judged: int | None


STEP = define(by_program("OdeStep", Guarded, saves="inputs y", traits="own"))


@gradient(STEP)
def _gradient(op: Operation, *grads: Any) -> list[Any]:
    """Return the gradient as another guarded step: an unsound step may contain NaN, but does not affect the solution."""
    _, function, judged = op.entry.node.attrs
    sound: Tensor = EagerTensor(op.entry.inputs[0])
    if judged is not None:
        sound = logical_and(sound, is_finite(op.outputs[judged]))
    given = tuple([i for i, g in enumerate(grads) if g is not None])
    places = tuple([i for i, need in enumerate(op.needed[1:]) if need])
    pulled, found = vjp_program(function, given, places)
    results: list[Any] = [None] * len(op.entry.inputs)
    if pulled.outputs:
        nodes = _guarded(pulled, sound, [*op.entry.inputs[1:], *[grads[i].node for i in given]])
        for i, place in zip(places, found, strict=True):
            results[1 + i] = None if place is None else EagerTensor(nodes[place])
    return results


def _guarded(
    function: Program, sound: Tensor, inputs: Sequence[Node], judged: int | None = None, result: int | None = None
) -> list[Node]:
    """Record the results of a Program, or zeros if the step is not sound. `result`: an input known to equal the results."""
    attrs = Guarded(_unless_unsound(function, result), function, judged)
    nodes: list[Node] = engine.elements(engine.record(STEP, (sound.node, *inputs), attrs))
    return nodes


@memoized
def _unless_unsound(function: Program, result: int | None) -> Program:
    def run(sound: Tensor, *inputs: Tensor) -> list[Tensor]:
        if result is not None:
            return [inputs[result]]
        nodes = tracing.call(function, tuple([x.node for x in inputs]))
        return [where(sound, EagerTensor(n), zeros_like(EagerTensor(n))) for n in nodes]

    return built(run, [aval((), np.dtype(bool)), *function.parameters[: arity(function)]])


class SolverState(NamedTuple):
    """State of an integration: the solution `y` at `t`, data for the next step, the polynomial of the last step, an event.

    A polynomial that is not needed has no coefficients.
    """

    t: Tensor
    y: Tensor
    slope: Tensor
    length: Tensor  # of the next step
    growth: Tensor  # of the length of a step, at most
    steps: Tensor
    began: Tensor  # this and the next fields, up to `bends`, describe the last accepted step
    size: Tensor
    start: Tensor
    bend: Tensor
    bends: Tensor
    value: Tensor  # of the event at `t`
    crossed: Tensor  # whether the event changed its sign

    def at(self, t: Tensor) -> Tensor:
        """Return the solution at a time within the last step."""
        x, moved = (t - self.began) / self.size, self.y - self.start
        bent = moved - self.size * self.slope - self.bend + (1.0 - x) * self.bends
        return self.start + x * (moved + (1.0 - x) * (self.bend + x * bent))


class Integration(NamedTuple):
    """An equation, `function` (t, y, captures…) → dy/dt, and the options of its integration.

    `event`: (t, y, captures…) → a scalar; the integration ends when its sign first changes.
    """

    function: Program
    event: Program | None
    rtol: float
    atol: float
    max_steps: int
    moves: bool  # whether the times have derivatives

    def slope(self, t: Tensor, y: Tensor, used: Sequence[Tensor]) -> Tensor:
        """Return dy/dt."""
        return called(self.function, t, y, *used)

    def watched(self, t: Tensor, y: Tensor, looked_at: Sequence[Tensor]) -> Tensor:
        """Return the value of the event."""
        assert self.event is not None
        return called(self.event, t, y, *looked_at)

    def stages(self, size: Tensor, t: Tensor, y: Tensor, slope: Tensor, used: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Return the end of a step, and the slopes of its stages except the one at its end."""
        slopes, there = [slope], y
        for node, weights in zip(NODES, WEIGHTS, strict=True):
            there = y + size * _combined(weights, slopes)
            if len(slopes) < len(WEIGHTS):
                slopes.append(self.slope(t + node * size, there, used))
        return there, slopes

    def norm(self, error: Tensor, y: Tensor) -> Tensor:
        """Return the root mean square of an error in units of the tolerances."""
        return sqrt(reduce_sum((error / (self.atol + self.rtol * abs(y))) ** 2) / max(y.node.aval.size, 1))

    def step(self, size: Tensor, t: Tensor, y: Tensor, slope: Tensor, *used: Tensor) -> list[Tensor]:
        """Return the end of a step, the slope there, the data of its polynomial, and its error in units of the tolerances."""
        there, slopes = self.stages(size, t, y, slope, used)
        slopes.append(self.slope(t + size, there, used))
        error = self.norm(stop_gradient(size * _combined(ERROR, slopes)), stop_gradient(maximum(abs(y), abs(there))))
        return [there, slopes[-1], size * _combined(BETWEEN, slopes), error]

    def begun(self, t: Tensor, y: Tensor, used: Sequence[Tensor], value: Tensor, between: bool) -> SolverState:
        """Return the first state, with a polynomial if values `between` the ends of steps are wanted.

        For the length of the first step see Hairer, Nørsett and Wanner, section II.4.
        """
        slope, kind = self.slope(t, y, used), y.dtype
        y0, f0 = stop_gradient(y), stop_gradient(slope)
        size, speed = self.norm(y0, y0), self.norm(f0, y0)
        tiny = minimum(size, speed) < 1e-5
        length = where(tiny, tensor(1e-6, kind), 0.01 * size / where(tiny, ones((), kind), speed))
        bend = self.norm(stop_gradient(self.slope(t + length, y0 + length * f0, used)) - f0, y0) / length
        most = maximum(speed, bend)
        next_ = where(most <= 1e-15, maximum(1e-6, 1e-3 * length), (0.01 / maximum(most, 1e-15)) ** 0.2)
        one = ones((), kind)
        length = minimum(100.0 * length, next_)
        steps, none = tensor(0), zeros_like(y) if between else zeros((0,), kind)
        return SolverState(t, y, slope, length, 10.0 * one, steps, t, one, none, none, none, value, tensor(False))

    def advanced(
        self, state: SolverState, target: Tensor, last: Tensor, used: Sequence[Tensor], looked_at: Sequence[Tensor]
    ) -> SolverState:
        """Record the steps until one ends at or after `target`, not beyond `last`, or until the event changes its sign.

        For the lengths of steps see Hairer, Nørsett and Wanner, equation (4.13). A step does not grow after a rejected one.
        """
        kind, between = state.y.dtype, extents_of(state.start) == extents_of(state.y)

        def goes_on(*flat: Any) -> Any:
            now = SolverState(*flat)
            moves = logical_and(now.t + 0.1 * now.length > now.t, now.steps < self.max_steps)
            return logical_and(logical_and(now.t < target, moves), logical_not(now.crossed))

        def trip(*flat: Any) -> Any:
            now = SolverState(*flat)
            length, left = stop_gradient(now.length), last - now.t
            ends = 1.01 * length >= left
            size = where(ends, left, length)
            given = (size, now.t, now.y, now.slope, *used)
            y, slope, bends, error = self._tried(given)
            taken = error <= 1.0
            ratio = where(is_finite(error), error, tensor(1e9, kind)) ** 0.2 / 0.9
            shorter = where(taken, maximum(ratio, 1.0 / now.growth), ratio)
            t = where(ends, last, now.t + size)
            value = now.value if self.event is None else stop_gradient(self.watched(t, y, looked_at))
            crossed = now.crossed if self.event is None else logical_and(sign(value) != sign(now.value), now.value != 0.0)
            most = tensor(10.0, kind)
            done = now._replace(t=t, y=y, slope=slope, value=value, crossed=crossed)
            if between:
                done = done._replace(began=now.t, size=size, start=now.y, bend=size * now.slope - (y - now.y), bends=bends)
            kept = SolverState(*[where(taken, new, old) for new, old in zip(done, now, strict=True)])
            return tuple(
                kept._replace(
                    length=size / minimum(shorter, 5.0),
                    growth=where(taken, most, ones((), kind)),
                    steps=now.steps + 1,
                )
            )

        return SolverState(*while_loop(goes_on, trip, tuple(state), maximum_iterations=self.max_steps))

    def _tried(self, given: Sequence[Tensor]) -> list[Tensor]:
        """Record a step."""
        step = _integrating(self.function, self, Integration.step, *[x.node.aval for x in given])
        return [EagerTensor(n) for n in _guarded(step, tensor(True), [x.node for x in given], judged=3)]

    def moved(self, t: Tensor, y: Tensor, length: Tensor, *used: Tensor) -> list[Tensor]:
        """Return the end of a step of this length."""
        return [self.stages(length, t, y, self.slope(t, y, used), used)[0]]

    def timed(self, t: Tensor, rows: Tensor, lengths: Tensor, used: Sequence[Tensor]) -> Tensor:
        """Return solutions at times, with derivatives with respect to these, by steps of length 0 from each solution."""
        if not self.moves:
            return rows
        given = [x.node for x in (t, rows, lengths, *used)]
        moved = _integrating(self.function, self, Integration.moved_each, *[n.aval for n in given])
        return EagerTensor(_guarded(moved, tensor(True), given, result=1)[0])

    def moved_each(self, *given: Tensor) -> list[Tensor]:
        """Return the ends of steps with a row each: the results of `moved`."""
        avals = [x.node.aval for x in (*[rows[0] for rows in given[:3]], *given[3:])]
        one, mapped = _integrating(self.function, self, Integration.moved, *avals), [i < 3 for i in range(len(given))]
        return [EagerTensor(n) for n in call_vectorized(one, [x.node for x in given], mapped)]

    def solution(self, times: Tensor, y: Tensor, *used: Tensor) -> list[Tensor]:
        """Record the solution at the times, and the status vector: found, last time, last length, number of steps.

        The loop treats its times as constants. Their derivatives come from a step of length 0 to each.
        """
        fixed, kind = stop_gradient(times), y.dtype
        start = self.timed(times[:1], expand_dims(y, 0), fixed[:1] - times[:1], used)[0]
        between = extents_of(times)[0] != 2
        state = self.begun(fixed[0], start, used, zeros((), kind), between)

        def one(state: Any, target: Any) -> Any:
            state = self.advanced(state, target, fixed[-1], used, ())
            return state, state.at(target)

        if not between:
            state = self.advanced(state, fixed[1], fixed[1], used, ())
            rows = expand_dims(state.y, 0)
        else:
            state, rows = carry_rows(one, state, fixed[1:])
        rows = self.timed(fixed[1:], rows, times[1:] - fixed[1:], used)
        found = stack([cast(state.t >= fixed[-1], kind), state.t, state.length, cast(state.steps, kind)])
        return [concat([expand_dims(y, 0), rows], 0), found]

    def event_near(self, times: Tensor, y: Tensor, *more: Tensor) -> list[Tensor]:
        """Record the start and approximate length of the step to the event, by bisection on its polynomial, and the status."""
        split = arity(self.function) - 2
        used, looked_at = more[:split], more[split:]
        fixed, kind = stop_gradient(times), y.dtype
        start = self.timed(times[:1], expand_dims(y, 0), fixed[:1] - times[:1], used)[0]
        state = self.begun(fixed[0], start, used, stop_gradient(self.watched(fixed[0], start, looked_at)), between=True)
        state = self.advanced(state, fixed[-1], fixed[-1], used, looked_at)
        after = sign(state.value)

        def halved(i: Any, low: Any, high: Any) -> Any:
            middle = 0.5 * (low + high)
            behind = sign(self.watched(middle, state.at(middle), looked_at)) == after
            return i + 1, where(behind, low, middle), where(behind, middle, high)

        bounds = (0, stop_gradient(state.began), stop_gradient(state.t))
        _, low, high = while_loop(lambda i, *_: i < BISECTIONS, halved, bounds)
        begin = stop_gradient(state.began)
        found = stack([cast(state.crossed, kind), state.t, state.length, cast(state.steps, kind)])
        return [begin, state.start, stop_gradient(0.5 * (low + high)) - begin, found]


def _combined(weights: Sequence[float], slopes: Sequence[Tensor]) -> Tensor:
    terms = [w * k for w, k in zip(weights, slopes, strict=True) if w]
    return functools.reduce(operator.add, terms)


def _integration(
    f: Any, y0: Any, times: Any, event: Any, rtol: float, atol: float, max_steps: int
) -> tuple[Unknowns, Integration, list[Node], list[Node]]:
    """Check the arguments; return the unknowns, the equation, its inputs, and the captures of the event."""
    what = "odeint" if event is None else "odeint_event"
    unknowns = Unknowns(y0, what)
    kind = unknowns.vector.dtype
    least = float(np.finfo(kind.as_numpy_dtype).eps)
    if not isinstance(rtol, (int, float)) or not least < rtol < 1.0:
        raise ValueError(f"rtol must be a number between {least:.2g} and 1 for {kind.name}, received {rtol!r}.")
    if not isinstance(atol, (int, float)) or not 0.0 < atol < np.inf:
        raise ValueError(f"atol must be a positive number, received {atol!r}.")
    check_count("max_steps", max_steps)
    given = tensor(times) if is_tensor(times) else tensor(times, kind)
    fits = given.ndim == 1 and (extents_of(given)[0] or 0) >= 2 if event is None else given.shape == (2,)
    if not given.dtype.is_floating or not fits:
        most = "a vector of at least two" if event is None else "two"
        raise ValueError(f"times must be {most} floating numbers, received dtype {given.dtype.name}, shape {given.shape}.")
    given = cast(given, kind)
    given = checked(given, expand_dims(reduce_min(given[1:] - given[:-1]), 0), what="times")
    function, used = unknowns.traced(f, timed=True)
    watched, looked_at = (None, []) if event is None else unknowns.traced(event, scalar=True, timed=True)
    way = Integration(function, watched, float(rtol), float(atol), max_steps, any(map(is_tensor, nest.flatten(times))))
    return unknowns, way, [given.node, unknowns.vector.node, *used], looked_at


@memoized
def _integrating(function: Program, way: Integration, run: Callable[..., list[Tensor]], *inputs: Aval) -> Program:
    """Return the Program of one of the methods of an Integration, on inputs of these Avals."""
    return built(functools.partial(run, way), inputs)


def _run(way: Integration, run: Callable[..., list[Tensor]], inputs: Sequence[Node]) -> list[Tensor]:
    """Record an integration. In a function it is inlined, since the gradient of a call would run the loop again."""
    if engine.local.trace.scope is not None:
        return run(way, *map(EagerTensor, inputs))
    program = _integrating(way.function, way, run, *[n.aval for n in inputs])
    return [EagerTensor(n) for n in tracing.call(program, tuple(inputs))]


@public
def odeint(
    f: Callable[[Any, Any], Any], y0: Any, times: Any, rtol: float = 1e-6, atol: float = 1e-6, max_steps: int = 500
) -> Any:
    """Return the solution of `dy/dt = f(t, y)` with `y = y0` at `times[0]`, at all `times`, in the first axis.

    `f`: takes a scalar and a nest like `y0`, and returns one like it, made of ops. Tensors and variables that it uses are found.
    `y0`: a tensor or a nest of tensors, all float32 or all float64. `times`: a vector that increases. Derivatives of any order go
    to `y0`, to the times and to what `f` uses, in both modes; give times as numbers or an array where they need none.

    The method is that of Dormand and Prince, of order 5(4). The error of a step stays below `atol + rtol · |y|` in the mean
    square; between steps the solution is a polynomial of degree 4. InvalidArgumentError where `max_steps` are not enough, or
    steps become too small, as at a pole; and for times that do not increase. ValueError for an `f` with effects,
    NotImplementedError for one that looks at values.

    >>> rate = tf.Variable(0.5)
    >>> with tf.GradientTape() as tape:
    ...     y = tf.autodiff.odeint(lambda t, y: -rate * y, 2.0, [0.0, 1.0, 2.0])
    >>> print(y.numpy().round(4), round(float(tape.gradient(y, rate)), 3))
    [2.     1.2131 0.7358] -2.685
    """
    unknowns, way, inputs, _ = _integration(f, y0, times, None, rtol, atol, max_steps)
    rows, found = _run(way, Integration.solution, inputs)
    return unknowns.pack(checked(rows, found, what="odeint"))


@public
def odeint_event(
    f: Callable[[Any, Any], Any],
    y0: Any,
    times: Any,
    event: Callable[[Any, Any], Any],
    rtol: float = 1e-6,
    atol: float = 1e-6,
    max_steps: int = 500,
) -> tuple[Tensor, Any]:
    """Return the first time between two `times` at which the scalar `event(t, y)` changes its sign, and the solution there.

    Other arguments, derivatives and errors are those of `odeint`. An event of 0 at the start is none. Two changes of sign within
    one step are not seen: give smaller tolerances, or a shorter interval. InvalidArgumentError if there is no event.

    >>> height = tf.Variable(20.0)
    >>> fall = lambda t, y: tf.stack([y[1], -10.0])
    >>> with tf.GradientTape() as tape:
    ...     t, y = tf.autodiff.odeint_event(fall, tf.stack([height, 0.0]), [0.0, 9.0], lambda t, y: y[0])
    >>> round(float(t), 4), y.numpy().round(3)[1].item(), round(float(tape.gradient(t, height)), 4)
    (2.0, -20.0, 0.05)
    """
    unknowns, way, inputs, looked_at = _integration(f, y0, times, event, rtol, atol, max_steps)
    begin, start, length, found = _run(way, Integration.event_near, [*inputs, *looked_at])
    start = checked(start, found, what="odeint_event")
    used, seen = [EagerTensor(n) for n in inputs[2:]], [EagerTensor(n) for n in looked_at]

    def ends(length: Tensor) -> Tensor:
        return way.watched(begin + length, way.moved(begin, start, length, *used)[0], seen)

    length = root(ends, length)
    return begin + length, unknowns.pack(way.moved(begin, start, length, *used)[0])
