"""Functions of tensors of unknown rank, and loops whose variables change their rank: traced once for each rank."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.autodiff.backward import Operation
from gradtape._src.control.scope import TENSOR, Outside, ResultStructure, Scope, Traced, flatten_results, trace
from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors.tensor import Tensor, handle, to_numpy
from gradtape._src.core.values.aval import Aval, aval, common, unranked
from gradtape._src.core.values.dim import unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.interpreter import NeedsEager
from gradtape._src.v1.graphs.kinds import late

FAILURES = (InvalidArgumentError, ValueError, TypeError, IndexError, AssertionError, NotImplementedError, OverflowError)


class PerShape:
    """A function of nodes traced for each list of ranks and dtypes."""

    def __init__(self, function: Callable[[list[Node]], Sequence[Tensor]]) -> None:
        self._function = function
        self._around = engine.local.trace  # the trace of the graph, or of a branch or loop in it
        self._bodies: dict[tuple[Any, ...], Traced] = {}

    def body(self, avals: Sequence[Aval]) -> Traced:
        """Return the trace for nodes of these Avals."""
        key = tuple([(a.ndim, a.dtype) for a in avals])
        found = self._bodies.get(key)
        if found is None:
            parameters = [leaf(aval([unknown() for _ in a.shape], a.dtype), None) for a in avals]
            with engine.recording_in(self._around):
                found = trace(lambda: list(self._function(parameters)), parameters, Scope(nested=True), draws=False)
            if found.written or not found.structure.fixed:
                raise invalid("A function of tensors of unknown rank gives tensors, and assigns no variables.")
            self._bodies[key] = found
        return found

    def bodies(self) -> list[Traced]:
        """Return the traces made so far."""
        return list(self._bodies.values())


class Inlined:
    """A deferred call with functions, which a Replay inlines at session time."""

    def __init__(self, functions: Sequence[PerShape]) -> None:
        self._outside = Outside([body for function in functions for body in function.bodies()])

    def run(self, replay: Any, inputs: Sequence[Node], eager: bool) -> list[Node]:
        """Return the results for the inputs of the deferred node."""
        raise NotImplementedError

    def gradient(self, op: Operation, *grads: Any) -> list[Any]:
        """Refuse a gradient inside of a branch or loop, as the functions' ops are unknown before session time."""
        raise engine.NeedsValues(
            "A gradient through functions of tensors of unknown rank is known to a graph only: take it outside of branches and "
            "loops."
        )

    def around(self) -> list[Node]:
        """Return further inputs of the deferred node: reads of variables, and captures."""
        return self._outside.inputs()

    def inline(self, replay: Any, function: PerShape, own: Sequence[Node], given: Sequence[Node]) -> list[Node]:
        """Inline the function called on `own`; `given` are the inputs from `around`."""
        body = function.body([n.aval for n in own])
        variables = self._outside.variables
        reads = {id(v): node for v, node in zip(variables, given, strict=False)}
        captures = dict(zip(self._outside.captures, given[len(variables) :], strict=True))
        if any(id(v) not in reads for v in body.variables):
            raise invalid("A function of tensors of unknown rank reads other variables for this rank.")
        inputs = [*own, *[reads[id(v)] for v in body.variables], *[captures.get(n) or replay.value(n) for n in body.captures]]
        made: list[Node] = replay.inlined(body.program, inputs)
        return made


class CallOfFunctions(Inlined):
    """A call with functions, on tensors whose ranks are known at session time."""

    def __init__(self, function: PerShape, own: int) -> None:
        super().__init__([function])
        self._function, self._own = function, own

    def run(self, replay: Any, inputs: Sequence[Node], eager: bool) -> list[Node]:
        """Return the results of the trace for these inputs."""
        return self.inline(replay, self._function, inputs[: self._own], inputs[self._own :])


class ChangingLoop(Inlined):
    """A `while_loop` whose trips change the rank of its variables."""

    def __init__(self, test: PerShape, step: PerShape, own: int, limit: int | None) -> None:
        super().__init__([test, step])
        self._test, self._step, self._own, self._limit = test, step, own, limit

    def run(self, replay: Any, inputs: Sequence[Node], eager: bool) -> list[Node]:
        """Run the loop trip by trip; return the last values."""
        if not eager:
            raise NeedsEager
        state, given, trip = list(inputs[: self._own]), inputs[self._own :], 0
        while self._limit is None or trip < self._limit:
            (holds,) = self.inline(replay, self._test, state, given)
            if not to_numpy(holds):
                break
            state, trip = self.inline(replay, self._step, state, given), trip + 1
        return state


def call_of_functions(graph: Graph, call: Callable[[list[Node]], Any], nodes: Sequence[Node], ranks: Sequence[int]) -> Any:
    """Record a call that takes functions, and tensors of unknown rank; NotImplemented if no rank is accepted."""
    own = [n for n in nodes if not n.aval.ranked]
    structures: list[ResultStructure] = []

    def function(parameters: list[Node]) -> list[Tensor]:
        given = iter(parameters)
        results = call([n if n.aval.ranked else next(given) for n in nodes])
        made, structure = flatten_results(results, lambda item: item, fixed_strings=False)
        if not all(item is TENSOR for item in structure.fixed):
            raise TypeError("what is no tensor has no rank")
        structures.append(structure)
        return [*map(handle, made)]

    traced, found = PerShape(function), []
    for rank in ranks:
        with contextlib.suppress(*FAILURES):
            found.append(traced.body([aval([unknown() for _ in range(rank)], n.aval.dtype) for n in own]).avals)
    if not found:
        return NotImplemented
    known = [unranked(column[0].type) if len(found) == 1 else common(column) for column in zip(*found, strict=True)]
    kept = CallOfFunctions(traced, len(own))
    return structures[0].pack(late(kept, [*own, *kept.around()], known))


def changing_loop(
    test: Callable[[list[Node]], Tensor],
    step: Callable[[list[Node]], Sequence[Tensor]],
    start: Sequence[Node],
    shapes: Sequence[TensorShape | None],
    limit: int | None,
) -> list[Node]:
    """Record a loop of a graph whose variables may change their rank, if their shape in `shapes` has none."""
    holds, trip = PerShape(lambda nodes: [test(nodes)]), PerShape(step)
    now = [n.aval for n in start]
    for _ in range(2):  # all ranks have the same captures
        holds.body(now)
        after = trip.body(now).avals
        for i, (a, b) in enumerate(zip(now, after, strict=True)):
            if a.dtype is not b.dtype:
                raise TypeError(
                    f"Loop variable number {i} has dtype {a.type.name} before, but {b.type.name} after one iteration."
                )
        now = after
    avals = [n.aval if s is None else unranked(n.aval.type).stated(s) for n, s in zip(start, shapes, strict=True)]
    kept = ChangingLoop(holds, trip, len(start), limit)
    return late(kept, [*start, *kept.around()], avals)
