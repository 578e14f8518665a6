"""A tape's record, run again with access to every value and cotangent; calls, branches and loops are opened."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.autodiff.backward import Entry, Parts, active_nodes, apply_rule, elements_of, leading_back, reverse
from gradtape._src.autodiff.custom import CLOSED, CUSTOM
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT, RAN, Key, Node, Program, Trace, leaf
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import EagerTensor, to_numpy
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import Aval
from gradtape._src.explain.history import opens
from gradtape._src.explain.source import NO_LINE
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.shape import ones, zeros
from gradtape._src.ops.gradients import unbroadcast

LARGEST = 20_000  # ops to which a loop may be unrolled; a longer one stays closed


@contextlib.contextmanager
def own_trace() -> Iterator[None]:
    """Record in a trace that no tape and no journal sees. NumPy does not warn, as it did so in the first run."""
    with journal.unnoted(Trace(0).serial), engine.recording_in(Trace(engine.UNBOUNDED), again=True), np.errstate(all="ignore"):
        yield


class TooLong(Exception):
    """Raised if a loop would be unrolled to too many ops."""


class _Opened:
    """The Interpreter that records the ops of Programs in a Probe."""

    residuals = True

    def __init__(self, probe: Probe, line: Line) -> None:
        self._probe, self._line, self._left = probe, line, LARGEST

    def call(self, program: Program, inputs: Sequence[Node]) -> Sequence[Node]:
        """Record a body."""
        self._left -= program.size
        if self._left < 0:
            raise TooLong
        return self._probe.inside(program, inputs, self._line)

    def holds(self, program: Program, inputs: Sequence[Node]) -> bool:
        """Run a condition; no gradient passes through it."""
        return bool(self.number(tracing.inline(program, inputs)[0]))

    def number(self, value: Node) -> Any:
        """Return the value of a scalar."""
        return np.asarray(engine.value(value)).item()

    def extent(self, value: Node) -> int:
        """Return the number of rows of a value."""
        return int(value.aval.shape[0])

    def row(self, value: Node, at: int) -> Node:
        """Record the selection of a row."""
        return self._probe.recorded(lambda: EagerTensor(value)[at])

    def stacked(self, rows: Sequence[Node], of: Aval, count: int) -> Node:
        """Record the stacking of rows."""

        def joined() -> Any:
            parts = [stack([EagerTensor(row) for row in rows])] if rows else []
            if len(rows) < count:
                parts.append(zeros((count - len(rows), *of.shape), of.type))
            return parts[0] if len(parts) == 1 else concat(parts, 0)

        return self._probe.recorded(joined)

    def constant(self, number: int) -> Node:
        """Record an int64 scalar."""
        return engine.constant(np.array(number, np.int64))


class Probe:
    """A tape's record, run again: `entries`, the nodes of each source, and after `backward` the cotangents in `total`.

    It is created and used inside of `own_trace`.
    """

    def __init__(self, tape: GradientTape, sources: Sequence[Any]) -> None:
        self._opened = tape._record.number
        self.entries: list[Entry] = []
        self.maker: dict[Node, Entry] = {}
        self.traced: set[Node] = set()  # constants of functions
        self._now: dict[Node, Any] = {}  # a recorded node → its node here; a list for several outputs
        recorded, offsets = tape._entries()
        places = []
        for entry in recorded:
            places.append(len(self.entries))
            self._again(entry)
        places.append(len(self.entries))
        reads = tape._reads()
        starts = {self._at(node): places[min(at, len(places) - 1)] for node, at in tape._starts(offsets, reads).items()}
        self.position = {entry.node: k for k, entry in enumerate(self.entries)}
        on_tape = active_nodes(self.entries, starts)
        found = tape._sources(sources, reads)
        self.sources = [[n for n in map(self._at, nodes) if n in on_tape] for nodes in found]
        self.active = leading_back(self.entries, on_tape, self.sources, [isinstance(s, Variable) for s in sources])
        self.users: dict[Node, list[Entry]] = {}
        for entry in self.entries:
            for node in dict.fromkeys(entry.inputs):
                self.users.setdefault(node, []).append(entry)
        self.total: dict[Node, Any] = {}
        self._elements = elements_of(self.entries)

    # -- forward

    def _at(self, node: Node) -> Node:
        found = self._now.get(node, node)
        return node if type(found) is list else found

    def _again(self, entry: Entry) -> None:
        node, line = entry.node, line_of(entry.node)
        inputs = [self._now.get(i, i) for i in entry.inputs]
        if node.op is ELEMENT and type(inputs[0]) is list:
            self._now[node] = inputs[0][node.attrs[0]]
            return
        given = tuple([i if type(i) is Node else EagerTensor(i[0]).node for i in inputs])
        part = node.op is ELEMENT and given[0].key[0] is RAN
        if part or node.key[0] is RAN:
            self._now[node] = again = Node(node.key, given, node.aval, None, -1, *line)
            again.value = given[0].value[node.attrs[0]] if part else engine.value(node)
            self._enter(Entry(again, given, entry.rule))
        elif (entry.rule is None and opens(node.op)) or transparent(node.key):
            self._now[node] = self._open(node.key, given, line)
        else:
            self._now[node] = self._record(node.op, given, node.attrs, line, entry.rule)

    def _enter(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.maker[entry.node] = entry

    def _open(self, key: Key, inputs: Sequence[Node], line: Line) -> Any:
        """Run one op here; return the list of result nodes for an op that runs Programs."""
        op, attrs = key[0], key[1]
        if transparent(key):
            return list(inputs[: attrs[0]])
        if opens(op):
            entered = len(self.entries)
            try:
                results = op.interpret(_Opened(self, line), attrs, inputs)
            except TooLong:
                del self.entries[entered:]
            else:
                avals = op.result(tuple([i.aval for i in inputs]), attrs)
                return [*results, *[leaf(a, None) for a in avals[len(results) :]]]
        return self._record(op, tuple(inputs), attrs, line)

    def _record(self, op: Op, inputs: tuple[Node, ...], attrs: tuple[Any, ...], line: Line, rule: Any = None) -> Node:
        node = engine.record(op, inputs, attrs)
        node.code, node.offset = line
        self._enter(Entry(node, inputs, rule))
        return node

    def inside(self, program: Program, inputs: Sequence[Node], line: Line) -> list[Node]:
        """Record the ops of a Program that is called at a line; return the nodes of its outputs."""
        constants = [engine.constant(c) for c in program.constants]
        self.traced.update(constants)
        leaves = [*inputs, *constants]
        values: list[Any] = []
        lines = program.lines or (NO_LINE,) * len(program.keys)
        for key, where in zip(program.keys, lines, strict=True):
            op, attrs, *references = key
            given = [values[r] if r >= 0 else leaves[-1 - r] for r in references]
            if op is ELEMENT and type(given[0]) is list:
                values.append(given[0][attrs[0]])
            elif op.effect:
                values.append(leaf(op.result(tuple([g.aval for g in given]), attrs), None))
            else:
                values.append(self._open(key, given, where if where[0] is not None else line))
        return [values[r] if r >= 0 else leaves[-1 - r] for r in program.outputs]

    def recorded(self, make: Callable[[], Any]) -> Node:
        """Record ops by the library's own functions, and enter them."""
        first = len(engine.local.trace.nodes)
        trace = engine.local.trace
        result: Node = make().node
        for node in engine.local.trace.nodes[first if engine.local.trace is trace else 0 :]:
            self._enter(Entry(node, node.inputs))
        return result

    # -- backward

    def backward(self, targets: Sequence[Any]) -> None:
        """Compute the cotangents of all values between the sources and the targets."""
        cotangents: dict[Node, Any] = {}
        for target in targets:
            node = self._at(target.held() if isinstance(target, Variable) else target.node)
            if node in self.active:
                d = ones(node.aval.shape, node.aval.type)
                cotangents[node] = cotangents[node] + d if node in cotangents else d
        self.targets = list(cotangents)
        self.total = reverse(self.entries, self.active, cotangents) if cotangents else {}
        # a run keeps the values only of nodes that a Tensor represents
        self._held = [EagerTensor(entry.node) for entry in self.entries if type(entry.node.aval) is not tuple]
        engine.flush()

    def contribution(self, entry: Entry, node: Node, cotangent: Any) -> Any:
        """Return an entry's contribution to one input, for a cotangent of its result: a Tensor, Parts, IndexedSlices or None."""
        if entry.node.op is ELEMENT:
            return Parts({entry.node.attrs[0]: [cotangent]})
        needed = tuple([i is node for i in entry.inputs])
        found = None
        for source, result in zip(entry.inputs, apply_rule(entry, needed, cotangent, self._elements), strict=True):
            if source is node and result is not None:
                if entry.node.op.broadcasting:
                    result = unbroadcast(result, source)
                found = result if found is None else _dense(found) + _dense(result)
        return found

    def made_under_tape(self, node: Node) -> bool:
        """Return whether a value entered the library while the tape recorded, at a known line."""
        return node.code is not None and journal.origin_of(node) > (0, self._opened)

    def leads_on(self, node: Node) -> list[Entry]:
        """Return the entries that use a node on a path to a target."""
        return [
            entry
            for entry in self.users.get(node, ())
            if entry.node in self.total and self.active.get(node, 1 << 62) <= self.position[entry.node]
        ]

    def gradient(self, source: int) -> Any:
        """Return the gradient of a source as a NumPy array; None if it has none."""
        found = [array(self.total[n]) for n in self.sources[source] if n in self.total]
        return sum(found[1:], found[0]) if found else None


def transparent(key: Key) -> bool:
    """Return whether an op's own gradient is that of its function's ops, which are recorded beside it."""
    return key[0] in (CUSTOM, CLOSED) and bool(key[1][-1])


def line_of(node: Node) -> Line:
    """Return the user's line at which a node was recorded."""
    return node.code, node.offset


def value(node: Node) -> np.ndarray:
    """Return the value of a node as a NumPy array."""
    return to_numpy(node)


def _dense(cotangent: Any) -> Any:
    return cotangent.to_dense() if isinstance(cotangent, IndexedSlices) else cotangent


def array(cotangent: Any) -> np.ndarray:
    """Flatten a cotangent to one NumPy array; several parts are concatenated."""
    if isinstance(cotangent, Parts):
        parts = [array(c).ravel() for contributions in cotangent.values() for c in contributions]
        return np.concatenate(parts) if parts else np.zeros(0)
    result = to_numpy(_dense(cotangent).node)
    return result if result.dtype.kind in "fc" else result.astype(np.float64)


def like(cotangent: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Return a cotangent of the same kind with changed values."""
    if isinstance(cotangent, Parts):
        return Parts({index: [like(c, change) for c in contributions] for index, contributions in cotangent.items()})
    before = to_numpy(_dense(cotangent).node)
    return EagerTensor(engine.constant(np.asarray(change(before), before.dtype)))


def ones_like(node: Node) -> Any:
    """Return a cotangent of ones for a node."""
    if type(node.aval) is tuple:
        return Parts({index: [ones(of.shape, of.type)] for index, of in enumerate(node.aval) if of.inexact})
    return ones(node.aval.shape, node.aval.type)
