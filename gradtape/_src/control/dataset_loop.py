"""A loop over a Dataset in a function: one effect of the function's Program, which calls the traced body for each element.

TensorFlow makes one op of such a loop (`ReduceDataset`), whose function is the body: the Python body runs while the function is
traced, and not for each element. The op runs on the host. Each trip is a call of the body, as of any function in eager code, with
its checks, effects, draws and tapes. Variables are read and assigned in each trip: what the dataset's own functions see of
them, and what an exception leaves behind, is what the last whole trip has made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gradtape._src.control.cells import Kept
from gradtape._src.control.eager_record import recorded
from gradtape._src.control.loop import ShapeChanged, check_same
from gradtape._src.control.scope import Body, Scope, call, trace
from gradtape._src.core import engine, hooks, journal, nest, tracing
from gradtape._src.core.aval import Aval, aval
from gradtape._src.core.convert import tensor
from gradtape._src.core.define import detected_at
from gradtape._src.core.errors import OpError
from gradtape._src.core.op import Op, define
from gradtape._src.core.program import Line, Node, Program, leaf
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.structured import programs_of
from gradtape._src.core.tensor import Tensor, handle
from gradtape._src.core.transcript import Inner
from gradtape._src.core.variable import Variable, put_all
from gradtape._src.ops.random import seeds

OPEN = 5  # what an open extent is traced as, where nothing better is known

Elements = tuple[Aval, ...]  # those of the tensors of one element
Step = Callable[[Sequence[Tensor], Any], list[Any]]


class ThroughEagerCode(engine.NeedsValues):
    """A function that goes through a Dataset has to run as eager code."""

    def __init__(self, why: str = "") -> None:
        super().__init__(
            f"a function that goes through a Dataset runs as eager code{why and f': {why}'}",
            "Open a tape inside of the loop; or let the loop call a tf.function, which is compiled.",
        )


def can_be_op(dataset: Any) -> bool:
    """Return whether a loop over `dataset` can be an op: it is no iterator. Under a tape none can."""
    return hasattr(dataset, "made_anew") and not any(tape() is not None for tape in engine.local.tapes)


class State(NamedTuple):
    """The carry of a loop over a Dataset: the nodes before the first trip, and the user's names for them.

    `numbers` are the positions of those that are Python numbers. `ends`: the body says after each trip whether it goes on.
    """

    start: Sequence[Node]
    names: Sequence[str]
    numbers: Sequence[int]
    ends: bool


class DatasetLoop:
    """A loop over `dataset`, traced. `step(carry, element)` runs the body's Python, and gives the carry after a trip.

    There is a Body for each list of Avals that the elements have. Other shapes than the first Body's are met while the loop
    runs: the body is traced again then or, where that cannot be done, it is run as eager code.
    """

    def __init__(self, dataset: Any, step: Step, state: State, instance: Any = None) -> None:
        self.dataset, self.state = dataset, state
        self.line: Line = (None, 0)
        self.before: list[Variable] = []  # those that the function assigns before the loop
        self._carry = [node.aval for node in state.start]
        self._specs, self._nest = nest.flatten_with_spec(dataset.element_spec)
        self._around = engine.local.trace
        self._step = Kept(step, instance)
        self._bodies: dict[Elements, Body | None] = {}  # None: it runs as eager code
        self.body = self._first(step)

    def __repr__(self) -> str:
        return f"<loop over {self.dataset!r}>"

    def _first(self, step: Step) -> Body:
        """Trace the body for elements as the dataset states them; NeedsValues where the loop is to be eager code."""
        if self.dataset.made_anew or not all(isinstance(s, TensorSpec) and s.shape.rank is not None for s in self._specs):
            raise ThroughEagerCode
        shapes = [s.shape.as_list() for s in self._specs]
        usual = self.dataset.usual_batch or OPEN
        body = self._traced(step, self._avals([[usual, *s[1:]] if s and s[0] is None else s for s in shapes], OPEN))
        if any(a.shape for a in self._carry) and not all(s.shape.is_fully_defined() for s in self._specs):
            self._traced(step, self._avals(shapes, OPEN + 2))  # ShapeChanged where the carry depends on what is open
        return body

    def _avals(self, shapes: Sequence[Sequence[int | None]], extent: int) -> Elements:
        closed = [tuple([extent if d is None else d for d in shape]) for shape in shapes]
        return tuple([aval(shape, s.dtype.numpy) for shape, s in zip(closed, self._specs, strict=True)])

    def _traced(self, step: Step, elements: Elements) -> Body:
        """Trace the body for elements of these Avals."""
        carry = [leaf(a, None) for a in self._carry]
        element = [leaf(a, None) for a in elements]
        scope = Scope(creates=False)
        scope.fixes_strings = False
        body = trace(lambda: self._trip(step, carry, element), [*carry, *element], scope, convert=tensor)
        if scope.locks or (body.variables and calls_python(body.program)):
            raise engine.NeedsValues("its body locks, or calls Python functions, which are to see each variable as it is then")
        if any(variable._declared is not None for variable in body.written):
            raise engine.NeedsValues("its body assigns a variable of open shape")
        self._bodies[elements] = body
        return body

    def _trip(self, step: Step, carry: Sequence[Node], element: Sequence[Node]) -> list[Tensor]:
        """Run the Python of the body."""
        results = step([*map(handle, carry)], nest.unflatten(self._nest, map(handle, element)))
        self._check(carry, results[: len(carry)])
        return results

    def _check(self, before: Sequence[Node], after: Sequence[Tensor]) -> None:
        check_same(before, after, self.state.names)

    def inputs(self, scope: Scope) -> tuple[Node, ...]:
        """Return the inputs of the op: the carry, what the body captures, and the variables that the function has assigned."""
        self.before = list(scope.written.values())
        return (*self.state.start, *self.body.captures, *[scope.after[id(v)] for v in self.before])

    def run(self, *arrays: Any) -> tuple[Any, ...]:
        """Go through the dataset. `arrays` are the op's inputs; the results are the carry and the variables that it assigns."""
        count = len(self._carry)
        first = count + len(self.body.captures)
        with tracing.outside():
            carry = [leaf(a, x) for a, x in zip(self._carry, arrays, strict=False)]
            given = [leaf(n.aval, x) for n, x in zip(self.body.captures, arrays[count:], strict=False)]
            put_all(self.before, [leaf(v.aval, x) for v, x in zip(self.before, arrays[first:], strict=True)])
            trips = Trips(self.body, given)
            for element in self._drawn():
                carry = trips.call(self, carry, element)
                if self.state.ends and not engine.value(carry.pop()):
                    break
            return tuple(map(engine.argument, [*carry, *[v._tensor.node for v in self.body.written]]))

    def _drawn(self) -> Iterator[list[Node]]:
        """Yield the nodes of the tensors of each element. The dataset's errors get the line of the loop."""
        elements = iter(self.dataset)
        while True:
            try:
                element = next(elements)
            except StopIteration:
                return
            except OpError as error:
                error.message += detected_at(self.line)
                raise
            yield [tensor(x).node for x in nest.flatten(element)]

    def body_for(self, elements: Elements) -> Body | None:
        """Return the Body for elements of these Avals, traced now if they are new; None where they are to run as eager code."""
        if elements not in self._bodies:
            with self._step.called() as step, engine.recording_in(self._around):
                if elements not in self._bodies:
                    try:
                        self._traced(step, elements)
                    except Exception:
                        if any(map(_symbolic, self.body.captures)):
                            raise  # Python has only the symbol
                        self._bodies[elements] = None
        return self._bodies[elements]

    def as_eager_code(self, carry: Sequence[Node], element: Sequence[Node]) -> list[Node]:
        """Run a trip as eager code."""
        with self._step.called() as step, recorded(False), seeds.drawn_by_function(seeds.begun()):
            return [tensor(x).node for x in self._trip(step, carry, element)]


def _symbolic(node: Node) -> bool:
    """Return whether a node has a value in a call of the function only."""
    return node.value is None and (node.trace is None or node.trace.parent is not None)


class Trips:
    """The trips of one pass: the Bodies, with the values of what they capture, and the random streams from their beginning."""

    def __init__(self, first: Body, given: Sequence[Node]) -> None:
        self._captured = dict(zip(first.captures, given, strict=True))
        self._streams = [stream.again() for stream in first.draws]
        self._bodies: dict[Elements, Body | None] = {}

    def call(self, loop: DatasetLoop, carry: Sequence[Node], element: Sequence[Node]) -> list[Node]:
        """Return the carry after a trip."""
        elements = tuple([n.aval for n in element])
        if elements not in self._bodies:
            found = loop.body_for(elements)
            self._bodies[elements] = None if found is None else self._begun(found)
        body = self._bodies[elements]
        if body is None:
            return loop.as_eager_code(carry, element)
        results = call(body, [*carry, *element])
        if hooks.watch.ran is not None and body.transcript is not None:
            hooks.watch.ran([*map(handle, results)])
        return results

    def _begun(self, body: Body) -> Body:
        """Return a Body for this pass. Another trace of the body may capture other tensors, if these have values."""
        captures = [self._captured.get(node, node) for node in body.captures]
        if any(map(_symbolic, captures)):
            raise engine.NeedsValues("the body of a loop over a Dataset uses other tensors for elements of another shape")
        streams = zip(body.draws, self._streams, strict=False)
        return body.begun(captures, [begun.shared(stream.blocks) for stream, begun in streams])


class ShownLoop(DatasetLoop):
    """A loop that is traced to be looked at, as a part of the function's graph: what is open has any extent."""

    def _first(self, step: Step) -> Body:
        if not all(isinstance(s, TensorSpec) for s in self._specs):
            raise ThroughEagerCode
        return self._traced(step, self._avals([() if s.shape.rank is None else s.shape.as_list() for s in self._specs], OPEN))

    def _check(self, before: Sequence[Node], after: Sequence[Tensor]) -> None:
        with contextlib.suppress(ShapeChanged):
            super()._check(before, after)


def _avals(*inputs: Aval, loop: DatasetLoop, results: Elements) -> Elements:
    return results


def _not_compiled(*inputs: Any, loop: DatasetLoop, results: Elements) -> Any:
    raise NotImplementedError("a loop over a Dataset runs outside of XLA")


def _on_host(*inputs: Any, loop: DatasetLoop, results: Elements) -> tuple[Any, ...]:
    return loop.run(*inputs)


REDUCE_DATASET = define(
    Op(
        "ReduceDataset",
        _not_compiled,
        infer=_avals,
        host=_on_host,
        effect=True,
        reason="a loop over a Dataset has none in a function, as in TensorFlow",
    )
)


def record_loop(loop: DatasetLoop, scope: Scope) -> list[Node]:
    """Record a loop over a Dataset; return the nodes of its last carry."""
    body, start = loop.body, loop.state.start
    read = [variable.read() for variable in body.variables]  # the function uses them, too
    results = (*[n.aval for n in start], *[v.aval for v in body.written])
    node = engine.record(REDUCE_DATASET, loop.inputs(scope), (loop, results))
    loop.line = node.code, node.offset
    nodes = engine.elements(node)
    for variable, new in zip(body.written, nodes[len(start) :], strict=True):
        variable._hold(new)
    scope.written.clear()  # the call assigns only what the function assigns after this: the others have their values, and
    scope.after.clear()  # what another thread has assigned since is not to be lost
    scope.loops += 1
    if body.transcript is not None:
        changing = len(body.transcript.inputs) - len(read) - len(body.captures) - len(body.draws)
        known = [*map(journal.origin_of, read), *map(journal.origin_of, body.captures)]
        given = [*[None] * changing, *known, *[None] * len(body.draws)]
        scope.inside.append(Inner(body.transcript, given, [*map(journal.origin_of, nodes[: len(start)])]))
    return nodes[: len(start)]


def calls_python(program: Program) -> bool:
    """Return whether a Program, or one in it, calls a Python function."""
    return any(
        op.type in ("EagerPyFunc", "PyFunc") or any(map(calls_python, programs_of(op, attrs))) for op, attrs, *_ in program.keys
    )


def is_in(program: Program | None) -> bool:
    """Return whether a loop over a Dataset is one of the ops of a Program."""
    return program is not None and any(key[0] is REDUCE_DATASET for key in program.keys)
