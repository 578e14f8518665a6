"""Loops of a function that run on the host: one effect of the function's Program, which calls the traced body for each element.

There are two kinds. A loop over a Dataset is TensorFlow's op `ReduceDataset`: its body is traced once, not run for each element.
A loop on tensors is run by the host if its body takes elements of an iterator, or goes through a Dataset. Each trip is a call of
the body like that of any function in eager code, with its checks, effects, random draws and tapes. Variables are read and
assigned in each trip. So the dataset's own functions see the values of the last complete trip, and an exception leaves these.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from gradtape._src.autodiff.eager_record import Recorder, Unrecorded
from gradtape._src.control.frozen import Kept
from gradtape._src.control.iterators import END, Again, Drawn, ElementIterator, Elements, Take, dense, of_specs, taken
from gradtape._src.control.loop import check_same, shape_changed
from gradtape._src.control.open_ways import Ways, extents_in
from gradtape._src.control.scope import Scope, Traced, call, on_a_way, trace
from gradtape._src.core.base import hooks
from gradtape._src.core.base.errors import OpError, OutOfRangeError
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.faults import detected_at
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.programs.program import Line, Node, Program, leaf
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.programs.transcript import Inner
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, handle
from gradtape._src.core.tensors.variable import Variable, hold_all, put_all
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.ways import Guide, following
from gradtape._src.ops.array.shape import zeros
from gradtape._src.ops.random import seeds

T = TypeVar("T")
NUMBER = aval((), np.dtype(np.int64))

Avals = tuple[Aval, ...]  # the Avals of the tensors of one element
Step = Callable[[Sequence[Tensor], Any], list[Any]]


class ThroughEagerCode(engine.NeedsValues):
    """A function that goes through a Dataset has to run as eager code; `why`, and a `fix` if there is one."""

    def __init__(self, why: str, fix: str = "") -> None:
        super().__init__(f"a function that goes through a Dataset runs as eager code: {why}", fix)


def under_a_tape() -> ThroughEagerCode:
    """Return the error for a loop over a Dataset that has to be differentiated."""
    return ThroughEagerCode(
        "a tape outside of the loop records each trip",
        "Open a tape inside of the loop; or let the loop call a tf.function, which is compiled.",
    )


def can_be_op(dataset: Any) -> bool:
    """Return whether a loop over `dataset` can be an op: it must be a Dataset or iterator, and no tape may record."""
    known = hasattr(dataset, "made_anew") or isinstance(dataset, ElementIterator)
    return known and not engine.taped()


def _other_elements() -> ThroughEagerCode:
    return ThroughEagerCode(
        "its elements are ragged, sparse or of unknown rank",
        "Make them dense by map(), with to_tensor() or tf.sparse.to_dense; tensor.set_shape states a rank.",
    )


class LoopState(NamedTuple):
    """The carry of a loop: the nodes before the first trip, and the user's names for them.

    `numbers` are the positions of Python numbers. With `ends`, the body's last result says whether to go on.
    """

    start: Sequence[Node]
    names: Sequence[str]
    numbers: Sequence[int]
    ends: bool


class DatasetLoop:
    """A traced loop over `dataset`. `step(carry, element)` runs the body's Python code, and returns the carry after the trip.

    The body is traced with symbols for unknown extents. For elements of other Avals an instance of that trace is used. If these
    elements make the body take another path, the running loop traces it again, or else runs it as eager code.
    """

    restarts = True  # whether the random streams start anew in each pass

    def __init__(self, dataset: Any, step: Step, state: LoopState, instance: Any = None) -> None:
        self.dataset, self.state = dataset, state
        self.takes: Sequence[Take] = ()  # the elements that the body takes from iterators in each trip
        self.sources: list[Any] = []  # the iterators of `takes`, those of inner loops, and the dataset
        self.line: Line = (None, 0)
        self.before: list[Variable] = []  # the variables that the function has assigned before the loop
        self._carry = [node.aval for node in state.start]
        self._specs, self._nest = nest.flatten_with_spec(getattr(dataset, "_ranked_spec", dataset.element_spec), nest.EXPANDED)
        self._around = engine.local.trace
        self._step, self._recorder = Kept(step, instance), Recorder()
        self._bodies: dict[Avals, Traced | None] = {}  # None: the body runs as eager code
        self._ways = Ways[Traced](lambda traced: traced)
        self.body = self._first(step)

    def __repr__(self) -> str:
        return f"<loop over {self.dataset!r}>"

    def _first(self, step: Step) -> Traced:
        """Trace the body for elements of the dataset's spec; NeedsValues if the loop must be eager code."""
        of_known_rank = dense(self.dataset.element_spec) and all(s.shape.rank is not None for s in self._specs)
        if getattr(self.dataset, "made_anew", False):
            raise ThroughEagerCode("the function makes the Dataset in each call", "Make it outside, and pass it as an argument.")
        if not of_known_rank:
            raise _other_elements()
        return self._tried(lambda: self._traced(step, of_specs(self._specs)))

    def _tried(self, traced: Callable[[], Traced]) -> Traced:
        with following(None):  # the body's extents must not add conditions to the outer trace
            body, way = on_a_way(traced)
        body = replace(body, way=way)
        self._ways.keep(body)
        self._bodies[self._given(body)] = body
        return body

    def _given(self, body: Traced) -> Avals:
        """Return the Avals of the elements, and of those taken from iterators, for which a body was traced."""
        seeds_of, first = len(body.draws) + len(body.captures) + len(body.variables), len(self._carry)
        return body.program.parameters[first : arity(body.program) - seeds_of]

    def _traced(self, step: Step, elements: Avals, again: Again | None = None) -> Traced:
        """Trace the body for elements of these Avals."""
        carry = [leaf(a, None) for a in self._carry]
        element = [leaf(a, None) for a in elements]
        parameters = [*carry, *element]
        scope = Scope(creates=False, through=getattr(engine.local.trace.scope, "through", None))
        scope.fixes_strings = False
        scope.elements = taken = Elements(parameters, again, take_in_order)
        body = trace(lambda: self._trip(step, carry, element), parameters, scope, convert=tensor)
        if scope.locks or (body.variables and calls_python(body.program)):
            raise engine.NeedsValues("its body locks, or calls Python functions, which are to see variables as they are")
        if any(variable._declared is not None for variable in body.written):
            raise engine.NeedsValues("its body assigns a variable of open shape")
        self.takes = self.takes or taken.takes
        self.sources = [*[take.source for take in taken.takes], *taken.behind, self.dataset]
        return replace(body, way=again and again.guide)

    def _trip(self, step: Step, carry: Sequence[Node], element: Sequence[Node]) -> list[Tensor]:
        results = step([*map(handle, carry)], nest.unflatten(self._nest, map(handle, element)))
        self._check(carry, results[: len(carry)])
        return results

    def _check(self, before: Sequence[Node], after: Sequence[Tensor]) -> None:
        try:
            check_same(before, after, self.state.names, stays=True)
        except ValueError as error:
            if shape_changed(error):  # the shape changes for any extents
                raise ThroughEagerCode(str(error), "Correct that line.") from error
            raise

    def inputs(self, scope: Scope) -> tuple[Node, ...]:
        """Return the op's inputs: the carry, the body's captures, and the variables that the function has assigned."""
        self.before = list(scope.written.values())
        return (*self.state.start, *self.body.captures, *[scope.after[id(v)] for v in self.before])

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """Run the loop. `arrays` are the op's inputs; the results are the last carry and the values of assigned variables."""
        count = len(self._carry)
        first = count + len(self.body.captures)
        with tracing.outside():
            carry = [leaf(a, x) for a, x in zip(self._carry, arrays, strict=False)]
            given = [leaf(n.aval, x) for n, x in zip(self.body.captures, arrays[count:], strict=False)]
            put_all(self.before, [leaf(v.aval, x) for v, x in zip(self.before, arrays[first:], strict=False)])
            trips = Trips(self.body, given, self.restarts)
            for element in self._drawn(arrays):
                carry = trips.call(self, carry, element)
                if self.state.ends and not engine.value(carry.pop()):
                    break
            return tuple(map(engine.argument, [*carry, *[v._tensor.node for v in self.body.written]]))

    def _drawn(self, arrays: Sequence[Any]) -> Iterator[list[Node]]:
        """Yield the nodes of each element. Errors of the dataset name the line of the loop."""
        elements = iter(self.dataset)
        while True:
            try:
                element = next(elements)
            except StopIteration:
                return
            except OpError as error:
                error.message += detected_at(self.line)
                raise
            yield [tensor(x).node for x in nest.flatten(element, expand_composites=True)]

    def body_for(self, elements: Avals, takes: Sequence[Take]) -> Traced | None:
        """Return the body for elements of these Avals, traced if they are new; None if it must run as eager code."""
        key = (*elements, *_of_takes(takes))
        if key not in self._bodies:
            with self._step.called() as step, engine.recording_in(self._around), following(None):
                if key not in self._bodies:
                    try:
                        self._bodies[key] = self._made(step, elements, takes)
                    except Exception:
                        if not self.can_be_eager_code():
                            raise
                        self._bodies[key] = None
        return self._bodies[key]

    def _made(self, step: Step, elements: Avals, takes: Sequence[Take]) -> Traced:
        """Return the body for these elements: an instance of a trace with symbols if possible, else a new trace."""

        def guided(guide: Guide) -> Traced:
            with following(guide):
                symbols = of_specs(self._specs)
                guide.at = extents_in(symbols, elements) or {}
                return self._traced(step, symbols, Again(takes, [], guide))

        found = self._ways.found((*self._carry, *elements, *_of_takes(takes)), guided)
        return self._traced(step, elements, Again(takes, [])) if found is None else found[1]

    def can_be_eager_code(self) -> bool:
        """Return whether Python can run a trip, which needs a value for each captured tensor."""
        return not any(map(_symbolic, self.body.captures))

    def as_eager_code(self, carry: Sequence[Node], element: Sequence[Node]) -> list[Node]:
        """Run a trip as eager code."""
        with self._step.called() as step:
            return op_by_op(lambda: [tensor(x).node for x in self._trip(step, carry, element)], seeds.begun(), self._recorder)


def op_by_op(call: Callable[[], T], source: Any, recorder: Recorder) -> T:
    """Return `call()`, a function that runs op by op. Its ops draw from `source`."""

    def drawing() -> T:
        stated = seeds.of_function(source)
        before = seeds.positions(stated)
        try:
            with seeds.drawn_from(stated):
                return call()
        except Unrecorded:
            seeds.rewind(stated, before)
            raise

    try:
        return recorder.run(drawing)
    except StopIteration:  # the caller's loop must not end on it
        raise OutOfRangeError.saying(END) from None


def _of_takes(takes: Sequence[Take]) -> list[Aval]:
    return [a for take in takes for a in take.avals]


def _symbolic(node: Node) -> bool:
    """Return whether a node has a value only in a call of the function."""
    return node.value is None and (node.trace is None or node.trace.parent is not None)


class Trips:
    """The trips of one pass: the bodies with the values of their captures, and their random streams."""

    def __init__(self, first: Traced, given: Sequence[Node], restarts: bool) -> None:
        self._captured = dict(zip(first.captures, given, strict=True))
        self._streams = [stream.again() for stream in first.draws] if restarts else first.draws
        self._bodies: dict[Avals, Traced | None] = {}

    def call(self, loop: DatasetLoop, carry: Sequence[Node], element: Sequence[Node]) -> list[Node]:
        """Return the carry after a trip."""
        elements = tuple([n.aval for n in element])
        drawn = Drawn(loop.takes)
        if drawn.error is not None:
            if not loop.can_be_eager_code():
                raise drawn.error
            drawn.give_back()
            return loop.as_eager_code(carry, element)
        key = (*elements, *drawn.avals)
        if key not in self._bodies:
            found = loop.body_for(elements, drawn.takes)
            self._bodies[key] = None if found is None else self._begun(found)
        body = self._bodies[key]
        if body is None:
            drawn.give_back()
            return loop.as_eager_code(carry, element)
        results = call(body, [*carry, *element, *drawn.nodes])
        if hooks.watch.ran is not None and body.transcript is not None:
            hooks.watch.ran([*map(handle, results)])
        return results

    def _begun(self, body: Traced) -> Traced:
        """Return a body for this pass. If another trace of the body captures other tensors, these must have values."""
        captures = [self._captured.get(node, node) for node in body.captures]
        if any(map(_symbolic, captures)):
            raise engine.NeedsValues("the body of a loop over a Dataset uses other tensors for elements of another shape")
        streams = zip(body.draws, self._streams, strict=False)
        return replace(body, captures=captures, draws=[begun.shared(stream.blocks) for stream, begun in streams])


class Count:
    """The numbers from 0 to `end`, exclusive: the elements of a loop on tensors."""

    element_spec = TensorSpec((), dtypes.int64)

    def __init__(self, end: Tensor) -> None:
        self.end = end


class CountedLoop(DatasetLoop):
    """A loop over a Count. Its random streams continue from pass to pass, as in any loop on tensors."""

    dataset: Count
    restarts = False

    def inputs(self, scope: Scope) -> tuple[Node, ...]:
        """Return the inputs of the op, with the count as the last one."""
        return (*super().inputs(scope), self.dataset.end.node)

    def _drawn(self, arrays: Sequence[Any]) -> Iterator[list[Node]]:
        for number in range(int(arrays[-1])):
            yield [leaf(NUMBER, np.array(number))]


def loop_over(instance: Any, source: Any, step: Step, state: LoopState) -> DatasetLoop:
    """Trace a loop over a Dataset, an iterator or a Count, in a method of `instance`."""
    return (CountedLoop if isinstance(source, Count) else DatasetLoop)(source, step, state, instance)


class ShownLoop(DatasetLoop):
    """A loop that is traced only to be shown in the function's graph, where unknown extents may have any value."""

    def _first(self, step: Step) -> Traced:
        if not dense(self.dataset.element_spec):
            raise _other_elements()
        specs = [TensorSpec((), s.dtype) if s.shape.rank is None else s for s in self._specs]
        return self._tried(lambda: self._traced(step, of_specs(specs)))

    def _check(self, before: Sequence[Node], after: Sequence[Tensor]) -> None:
        with contextlib.suppress(ThroughEagerCode):
            super()._check(before, after)


def _avals(*inputs: Aval, loop: DatasetLoop, results: Avals) -> Avals:
    return results


def _not_compiled(*inputs: Any, loop: DatasetLoop, results: Avals) -> Any:
    raise NotImplementedError("a loop over a Dataset runs outside of XLA")


def _on_host(*inputs: Any, loop: DatasetLoop, results: Avals) -> tuple[Any, ...]:
    return loop.run(*inputs)


def _refused(op: Any, *grads: Any) -> NoReturn:
    raise under_a_tape()


REDUCE_DATASET = define(
    Op(
        "ReduceDataset",
        _not_compiled,
        infer=_avals,
        host=_on_host,
        effect=True,
        gradient=_refused,
    )
)


def record_loop(loop: DatasetLoop, scope: Scope) -> list[Node]:
    """Record a loop over a Dataset; return the nodes of its last carry."""
    body, start = loop.body, loop.state.start
    read = [variable.read() for variable in body.variables]  # the function reads the body's variables, too
    results = (*[n.aval for n in start], *[v.aval for v in body.written])
    node = engine.record(REDUCE_DATASET, loop.inputs(scope), (loop, results))
    loop.line = node.code, node.offset
    nodes = engine.elements(node)
    hold_all(body.written, nodes[len(start) :])
    # The loop has assigned these variables. The call must not assign them again, since another thread may have changed them.
    scope.written.clear()
    scope.after.clear()
    scope.loops += 1
    if scope.elements is not None:
        scope.elements.behind += loop.sources
    if body.transcript is not None:
        changing = len(body.transcript.inputs) - len(read) - len(body.captures) - len(body.draws)
        known = [*map(journal.origin_of, read), *map(journal.origin_of, body.captures)]
        given = [*[None] * changing, *known, *[None] * len(body.draws)]
        scope.inside.append(Inner(body.transcript, given, [*map(journal.origin_of, nodes[: len(start)])]))
    return nodes[: len(start)]


def take_in_order(source: ElementIterator, optional: bool, avals: Avals) -> list[Node]:
    """Record a loop of one trip that takes an element of `source`; return the element's tensors."""
    scope: Any = engine.local.trace.scope
    start = [zeros(a.shape, a.type).node for a in avals]
    state = LoopState(start, [f"part {i} of the element" for i in range(len(start))], (), False)
    loop = scope.through(Count(tensor(1, dtypes.int64)), lambda carry, number: [*map(handle, taken(source, optional))], state)
    return record_loop(loop, scope)


def calls_python(program: Program) -> bool:
    """Return whether a Program, or a Program nested in it, calls a Python function."""
    return any(
        (op.effect and Trait.HOLDS_CODE in op.traits) or any(map(calls_python, op.programs(attrs)))
        for op, attrs, *_ in program.keys
    )
