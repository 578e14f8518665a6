"""Functions over tensors of unknown rank, and loops whose variables change it: traced once for each rank that there is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.autodiff.backward import Operation
from gradtape._src.control.scope import Outside, Scope, Traced, trace
from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node, leaf
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, to_numpy
from gradtape._src.core.values.aval import Aval, aval, common
from gradtape._src.core.values.dim import unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.v1.graphs.graph import Graph, symbols_for
from gradtape._src.v1.graphs.interpreter import NeedsEager
from gradtape._src.v1.graphs.kinds import LATE, IdentityAttr

FAILURES = (InvalidArgumentError, ValueError, TypeError, IndexError, AssertionError, NotImplementedError, OverflowError)


class PerShape:
    """A function of nodes that is traced for each list of Avals, and what its traces take from around it.

    For each list of ranks and dtypes, unless it looks `by_extents`, too.
    """

    def __init__(self, function: Callable[[list[Node]], Sequence[Tensor]], by_extents: bool = False) -> None:
        self._function, self._by_extents = function, by_extents
        self._around = engine.local.trace  # the graph's, or that of a branch or loop in it
        self._bodies: dict[tuple[Any, ...], Traced] = {}

    def body(self, avals: Sequence[Aval]) -> Traced:
        """Return the function as it was traced, for nodes of these Avals."""
        key = tuple([a if self._by_extents else (a.ndim, a.dtype) for a in avals])
        found = self._bodies.get(key)
        if found is None:
            given = avals if self._by_extents else [aval([unknown() for _ in a.shape], a.dtype) for a in avals]
            parameters = [leaf(a, None) for a in given]
            with engine.recording_in(self._around):
                found = trace(lambda: list(self._function(parameters)), parameters, Scope(nested=True), draws=False)
            if found.written or not found.structure.fixed:
                raise invalid("A function of tensors of unknown rank gives tensors, and assigns no variables.")
            self._bodies[key] = found
        return found

    def bodies(self) -> list[Traced]:
        """Return the traces that were made so far."""
        return list(self._bodies.values())


class Inlined:
    """A deferred call whose functions a Replay writes out at session time."""

    def __init__(self, functions: Sequence[PerShape]) -> None:
        self._outside = Outside([body for function in functions for body in function.bodies()])

    def run(self, replay: Any, inputs: Sequence[Node], eager: bool) -> list[Node]:
        """Return the results, recorded where the thread records; `inputs` are the inputs of the deferred node."""
        raise NotImplementedError

    def gradient(self, op: Operation, *grads: Any) -> list[Any]:
        """Refuse a gradient inside of a branch or loop: what the functions do is known when the graph runs."""
        raise engine.NeedsValues(
            "A gradient through functions of tensors of unknown rank is known to a graph only: take it outside of branches and "
            "loops."
        )

    def around(self) -> list[Node]:
        """Return the further inputs of the deferred node: reads of variables, and tensors."""
        return self._outside.inputs()

    def inline(self, replay: Any, function: PerShape, own: Sequence[Node], given: Sequence[Node]) -> list[Node]:
        """Record the function of `own`; `given` is what `around` stands for."""
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
    """A call that takes functions, of tensors whose ranks are known when the graph runs."""

    def __init__(self, function: PerShape, own: int) -> None:
        super().__init__([function])
        self._function, self._own = function, own

    def run(self, replay: Any, inputs: Sequence[Node], eager: bool) -> list[Node]:
        """Return the results of one trace."""
        return self.inline(replay, self._function, inputs[: self._own], inputs[self._own :])


class ChangingLoop(Inlined):
    """A `while_loop` whose variables have other ranks after a trip."""

    def __init__(self, test: PerShape, step: PerShape, own: int, limit: int | None) -> None:
        super().__init__([test, step])
        self._test, self._step, self._own, self._limit = test, step, own, limit

    def run(self, replay: Any, inputs: Sequence[Node], eager: bool) -> list[Node]:
        """Return the last values, one trip after the other."""
        if not eager:
            raise NeedsEager
        state, given, trip = list(inputs[: self._own]), inputs[self._own :], 0
        while self._limit is None or trip < self._limit:
            (holds,) = self.inline(replay, self._test, state, given)
            if not to_numpy(holds):
                break
            state, trip = self.inline(replay, self._step, state, given), trip + 1
        return state


def recorded(graph: Graph, call: Inlined, own: Sequence[Node], avals: Sequence[Aval | Any]) -> list[Node]:
    """Return the results of a deferred call; a dtype among `avals` is that of a result of unknown rank."""
    known = tuple([a if isinstance(a, Aval) else aval((), a) for a in avals])
    results = engine.elements(engine.record(LATE, (*own, *call.around()), (IdentityAttr(call), known)))
    graph.unknown_rank.update([n for n, a in zip(results, avals, strict=True) if not isinstance(a, Aval)])
    return results


def call_of_functions(
    graph: Graph, call: Callable[[list[Node]], Any], nodes: Sequence[Node], is_open: Sequence[bool], ranks: Sequence[int]
) -> Any:
    """Record a call that takes functions, where some of its tensors have no known rank; NotImplemented if none fits."""
    own = [n for n, o in zip(nodes, is_open, strict=True) if o]
    layouts: list[Any] = []

    def function(parameters: list[Node]) -> list[Tensor]:
        given = iter(parameters)
        made, layout = nest.flatten_with_spec(
            call([next(given) if o else n for n, o in zip(nodes, is_open, strict=True)]), nest.EXPANDED
        )
        if not all(isinstance(item, Tensor) for item in made):
            raise TypeError("what is no tensor has no rank")
        layouts.append(layout)
        return made

    traced, found = PerShape(function), []
    for rank in ranks:
        with contextlib.suppress(*FAILURES):
            found.append(traced.body([aval([unknown() for _ in range(rank)], n.aval.dtype) for n in own]).avals)
    if not found:
        return NotImplemented
    known = [common(column) if len(found) > 1 else column[0].dtype for column in zip(*found, strict=True)]
    results = recorded(graph, CallOfFunctions(traced, len(own)), own, known)
    return nest.unflatten(layouts[0], [EagerTensor(n) for n in results])


def changing_loop(
    test: Callable[[list[Node]], Tensor],
    step: Callable[[list[Node]], Sequence[Tensor]],
    start: Sequence[Node],
    shapes: Sequence[TensorShape | None],
    limit: int | None,
) -> list[Node]:
    """Return a loop in a graph, whose variables change their ranks where a shape has none."""
    graph = engine.graph_around()
    holds, trip = PerShape(lambda nodes: [test(nodes)]), PerShape(step)
    now = [n.aval for n in start]
    for _ in range(2):  # what a trip takes from around it is the same for all ranks
        holds.body(now)
        after = trip.body(now).avals
        for i, (a, b) in enumerate(zip(now, after, strict=True)):
            if a.dtype is not b.dtype:
                raise TypeError(
                    f"Loop variable number {i} has dtype {a.type.name} before, but {b.type.name} after one iteration."
                )
        now = after
    avals = [
        n.aval if s is None else n.aval.dtype if s.rank is None else aval(symbols_for(s), n.aval.dtype)
        for n, s in zip(start, shapes, strict=True)
    ]
    return recorded(graph, ChangingLoop(holds, trip, len(start), limit), start, avals)
