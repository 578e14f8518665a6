"""Tapes with restored values: of a function from its Transcript and one call, of the last step from its kept record."""

from __future__ import annotations

import contextlib
import itertools
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, NamedTuple

from gradtape._src.autodiff.backward import Entry
from gradtape._src.autodiff.recording import Segment, kept_step
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine, execution
from gradtape._src.core.engine.slices import slice_trace
from gradtape._src.core.programs import journal, transcript
from gradtape._src.core.programs.journal import Taped
from gradtape._src.core.programs.program import LEAF_KEY, Node, Program, Trace, leaf
from gradtape._src.core.programs.structured import BRANCH, LOOP, StructuredOp
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.explain.inside import Inside, Name, OpenedCall, finite

LONGEST = 10_000  # trips of a loop that are run again


class Again(NamedTuple):
    """A tape that can be run again, with its own nodes for the sources and targets."""

    tape: GradientTape
    sources: Sequence[Any]
    targets: Sequence[Any]


def again(
    inside: Inside, taped: Taped | None, targets: Sequence[Name], sources: Sequence[tuple[int | Name, Any]]
) -> Again | None:
    """Restore a tape of a function, with the values of a call. Each source comes with its key in the `gradient` call."""
    given = inside.run.given()
    if given is None or taped is None:
        return None
    restored = Restored(inside, given[1])
    tape = restored.tape(taped)
    if tape is None:
        return None
    nodes = [restored.node(name) for name in targets]
    found = [source if isinstance(key, int) else restored.node(key) for key, source in sources]
    if any(node is None for node in [*nodes, *found]):
        return None
    return Again(tape, [EagerTensor(x) if isinstance(x, Node) else x for x in found], [EagerTensor(n) for n in nodes if n])


class RestoredTape(GradientTape):
    """A tape whose record comes from a Transcript. Ops with effects are left out."""

    def _entries_of(self, segment: Segment) -> list[Entry]:
        return [entry for entry in super()._entries_of(segment) if not entry.node.op.effect]


class Restored:
    """The nodes of a function's call, by their names."""

    def __init__(self, inside: Inside, given: Sequence[Any]) -> None:
        self._inside, self._given = inside, given
        self._traces: dict[int, Trace] = {}
        self._leaves: dict[Name, Node] = {}

    def tape(self, taped: Taped) -> GradientTape | None:
        """Return the restored tape; None if values are missing."""
        serials = [serial for serial, _, _ in taped.segments]
        found = [o for o in self._inside.opened if o.transcript.serial in serials]
        if len(found) < len(set(serials)) or any(self.trace(opened) is None for opened in found):
            return None
        tape = RestoredTape(True, taped.automatic)
        tape._record, tape._entered = taped, True
        for serial, start, stop in taped.segments:
            tape._segments.append(_segment(self._traces[serial], start, stop))
        for name, (serial, at), number in taped.watches:
            node, variable = self.node(name), None if number is None else self._inside.variable(number)
            if node is not None:
                tape._watches.append((serials.index(serial), at, node, variable))
        return tape if _outside(tape) else None

    def node(self, name: Name) -> Node | None:
        """Return the node of a value in the restored functions."""
        trace = self._traces.get(name[0])
        return self._leaves.get(name) if trace is None else trace.nodes[name[1]]

    def trace(self, opened: OpenedCall) -> Trace | None:
        """Return the trace of a function, with values in its leaves; None if these are unknown."""
        own = opened.transcript
        if own.serial in self._traces:
            return self._traces[own.serial]
        given = self._given if opened.around is None else self._inputs(opened)
        if given is None:
            return None
        trace = self._traces[own.serial] = Trace(engine.UNBOUNDED, scope=own)  # type: ignore[arg-type]
        trace.serial = own.serial
        for k, (aval, origin) in enumerate(zip(own.leaf_avals, own.leaves, strict=True)):
            node = self.node(origin)
            if node is None:  # otherwise the outer function computed it
                node = leaf(aval, given[own.places[k]] if k in own.places else own.constants.get(k))
                node.origin = origin
            if origin != journal.NUMBERS:
                self._leaves.setdefault(origin, node)
            trace.add_leaf(node)
        for index, (key, aval, line) in enumerate(zip(own.keys, own.avals, own.lines, strict=True)):
            trace.nodes.append(Node(key, tuple(map(trace.node, key[2:])), aval, trace, index, *line))
        for position, number, name in own.reads:
            node, variable = self.node(name), self._inside.variable(number)
            if node is not None and variable is not None:
                trace.reads.append((position, variable, node))
        return trace

    def _inputs(self, opened: OpenedCall) -> Sequence[Any] | None:
        """Return the inputs of a called function, or of a branch or loop body; None if it did not run, or cannot run again."""
        assert opened.around is not None
        around, placed = self.trace(opened.around), opened.transcript.placed
        if around is None:
            return None
        if placed is None:
            nodes = [None if name is None else self.node(name) for name in opened.given]
            return None if not nodes or None in nodes else values(nodes)
        index, branch = placed
        node = next((n for n in around.nodes[index:] if isinstance(n.op, StructuredOp) and n.op.kind in (BRANCH, LOOP)), None)
        given = None if node is None else values(node.inputs)
        if node is None or given is None:
            return None
        assert isinstance(node.op, StructuredOp)
        watching = _Watched(node.op, node.op.programs(node.attrs)[branch])
        with contextlib.suppress(_Stopped):
            node.op.interpret(watching, node.attrs, given)
        return watching.taken


def values(nodes: Sequence[Any]) -> list[Any] | None:
    """Return the values of nodes in restored traces, computed from the leaves; None if that would repeat effects."""
    found: dict[Node, Any] = {node: node.value for node in nodes if node.value is not None}
    for trace, group in itertools.groupby(sorted({n for n in nodes if n not in found}, key=_place), key=lambda n: n.trace):
        wanted = list(group)
        program, positions = slice_trace(trace, [node.index for node in wanted])
        arguments = values([trace.leaves[p] for p in positions])
        if program.effects or arguments is None:
            return None
        found.update(zip(wanted, execution.execute(execution.intern(program), arguments), strict=True))
    return [found[node] for node in nodes]


class _Stopped(Exception):
    """Raised to end the search for the inputs of a Program."""


class _Watched(execution.OnHost):
    """The Interpreter that notes the inputs of one of an op's Programs.

    For a loop these are the inputs of the first trip that turns finite values into non-finite ones, or of the last trip.
    """

    residuals = False

    def __init__(self, op: StructuredOp, watched: Program) -> None:
        self._op, self._watched, self._trips = op, watched, 0
        self.taken: Sequence[Any] | None = None

    def call(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Run a Program. For a branch its inputs suffice, so it is not run."""
        if self._op.kind is BRANCH:
            self.taken = inputs if program is self._watched else None
            raise _Stopped
        if program.effects or self._trips == LONGEST:
            self.taken = None if program.effects else self.taken
            raise _Stopped
        results = super().call(program, inputs)
        self.taken, self._trips = inputs, self._trips + 1
        if all(map(finite, inputs)) and not all(map(finite, results)):
            raise _Stopped
        return results

    def holds(self, program: Program, inputs: Sequence[Any]) -> bool:
        """Run a condition."""
        if program.effects:
            self.taken = None
            raise _Stopped
        return bool(execution.execute(program, inputs)[0])


def _place(node: Node) -> tuple[int, int]:
    return node.trace.serial, node.index


def _segment(trace: Trace, start: int, stop: int) -> Segment:
    segment, positions = Segment(trace), [position for position, _, _ in trace.reads]
    segment.start, segment.stop, segment.leaves = start, stop, len(trace.leaves)
    segment.first_read, segment.reads = bisect_left(positions, start), bisect_left(positions, stop + 1)
    return segment


def _outside(tape: GradientTape) -> bool:
    """Turn the nodes that the tape's record uses from outside into leaves with values; return False if their values are lost."""
    entries, _ = tape._entries()
    known = {entry.node for entry in entries}
    nodes = list(dict.fromkeys([i for entry in entries for i in entry.inputs if i not in known and i.trace is not None]))
    found = values(nodes)
    for node, value in zip(nodes, found or (), strict=False):
        node.value, node.key, node.inputs, node.trace = value, LEAF_KEY, None, None
    return found is not None


@public
def keep_last_step(keep: bool = True) -> None:
    """Keep the record of the last tape that was used up, so that zeros and NaN can be explained afterwards.

    The values of that one step stay in memory. `keep=False` releases them.

    >>> tf.config.keep_last_step()
    >>> x = tf.Variable([0.0, 0.0])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.norm(x)
    >>> print(tape.gradient(y, x).numpy(), tf.autodiff.explain_nan(y, x).code)
    [nan nan] nan_origin
    >>> tf.config.keep_last_step(False)
    """
    kept_step.keep(bool(keep))
    transcript.keep(bool(keep))
