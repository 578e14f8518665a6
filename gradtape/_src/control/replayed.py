"""Python code of a library that records the same ops in each call: after two equal runs its record is replayed without Python.

The trace gets the same ops, lines, reads and names as if the code had run.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradtape._src.core.base.ambient import setting
from gradtape._src.core.base.tracebacks import line_outside
from gradtape._src.core.engine import engine, execution, stages
from gradtape._src.core.native import twins
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.program import NUMBER, RAN, Node, Program, Trace, effectful
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.tensors import scopes
from gradtape._src.core.tensors.tensor import Tensor, handle
from gradtape._src.core.tensors.variable import Variable, hold_all

if TYPE_CHECKING:
    from gradtape._src.core.programs.op import Attributes, Op

MOST = 16  # the number of keys kept
TRIES = 4  # the number of records compared before a key is given up
COMPARED = 1 << 12  # larger constants have to be the same object

Results = tuple[Sequence[Tensor], Any]  # the tensors, and a value from which the caller makes its result
Code = Callable[[Sequence[Tensor]], Results | None]  # None: the code must not be replayed


class Replayed:
    """The records of one piece of code, by key."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[Record | None, int]] = {}  # the number of records made so far; 0: it is to be replayed
        self.entered = False  # whether a record was ever replayed

    def call(self, key: Hashable, code: Code, tensors: Sequence[Tensor], variables: Sequence[Variable]) -> Results | None:
        """Run `code` on `tensors`, or replay its record; None if the code gave None.

        `key` identifies all else on which the code depends, except the values of `variables`.
        """
        nodes = [x.node for x in tensors]
        key = (key, journal.user_line(), tuple([node.aval for node in nodes]), tuple([nodes.index(node) for node in nodes]))
        record, tries = self._known.get(key, (None, 1))
        if not tries and record is not None:
            results = record.enter(nodes, variables)
            self.entered = self.entered or results is not None
            return code(tensors) if results is None else results
        if tries > TRIES:
            return code(tensors)
        results, made = _recorded(code, tensors, variables)
        if len(self._known) >= MOST:
            self._known.pop(next(iter(self._known)), None)
        same = made is not None and record is not None and made.equals(record)
        self._known[key] = made, 0 if same else tries + 1
        return results


class Form(NamedTuple):
    """The content of a record: ops with attributes and references, reads, names, assignments, checks.

    A reference of 0 or more is an op of the record. `-1 - k` is slot k: an argument, a variable's previous value, or a constant.
    """

    arguments: int
    read: tuple[int, ...]  # the variables that have a slot
    keys: list[tuple[Any, ...]]
    reads: list[tuple[int, int, int]]  # position, variable, reference
    names: list[tuple[int, str, list[int]]]
    marks: list[tuple[int, str]]
    left: list[tuple[str, int, int]]
    journaled: list[tuple[int, int]]  # variable, reference
    assigned: list[tuple[int, int]]
    checks: list[stages.Check]
    results: list[int]


class Unlike(Exception):
    """A call did something that cannot be replayed."""


class _Before:
    """The state of the thread before a call that is recorded."""

    def __init__(self, trace: Trace, variables: Sequence[Variable]) -> None:
        self.trace, self.first = trace, len(trace.nodes)
        self.counts = len(trace.reads), len(trace.names)
        self.unchanged = self._unchanged()
        self.held = [variable._tensor for variable in variables]
        self.variables = {id(variable): number for number, variable in enumerate(variables)}
        self.last = [x[-1] if x else None for x in self._journal()]
        self.checks: list[tuple[Op, Attributes, list[Node]]] = []  # those of the call

    def _unchanged(self) -> tuple[Any, ...]:
        """Return the state that a call must leave as it is to be replayable."""
        state, trace = engine.local, self.trace
        links = journal.links[-1] if journal.links else None
        return state.trace, len(trace.recomputed), len(trace.gradients), len(state.tapes), links, journal.asked

    def _journal(self) -> tuple[deque[Any], ...]:
        return journal.assigned, scopes.marks(), journal.exits

    def is_left_alone(self) -> bool:
        return self._unchanged() == self.unchanged

    def new(self) -> list[list[Any]]:
        """Return the journal's new entries since then."""
        found = []
        for entries, last in zip(self._journal(), self.last, strict=True):
            since = list(itertools.takewhile(lambda entry: entry is not last, reversed(entries)))  # noqa: B023
            if last is not None and len(since) == len(entries):
                raise Unlike
            found.append(since[::-1])
        return found


def _recorded(code: Code, tensors: Sequence[Tensor], variables: Sequence[Variable]) -> tuple[Results | None, Record | None]:
    """Run the code; return its results and its record, or None if it cannot be replayed."""
    trace = _room()
    before, limit = _Before(trace, variables), trace.limit
    trace.limit = engine.UNBOUNDED
    try:
        with setting(checks=before.checks):
            results = code(tensors)
    finally:
        trace.limit = limit
    if results is None:
        return None, None
    try:
        return results, Record(before, [x.node for x in tensors], variables, results)
    except Unlike:
        return results, None


class Record:
    """The ops and notes of one call, to be replayed with other arguments and other values of the variables."""

    def __init__(self, before: _Before, given: Sequence[Node], variables: Sequence[Variable], results: Results) -> None:
        if not before.is_left_alone():
            raise Unlike
        self._trace, self._first = before.trace, before.first
        nodes = self._trace.nodes[self._first :]
        if len({(node.code, node.offset) for node in nodes}) > 1:
            raise Unlike  # user code ran in between
        self._slots: dict[Node, int] = {node: number for number, node in reversed(list(enumerate(given)))}
        self._constants: list[Node] = []
        assigned, marks, left = before.new()
        held = [tensor.node for tensor in before.held]
        used = self._variables_read(nodes, held, before)
        self._count = len(given) + len(used)
        for number, variable in enumerate(used):
            self._slots[held[variable]] = len(given) + number
        keys = [(*node.key[:2], *map(self._reference, self._plain(node).inputs)) for node in nodes]
        self.avals = [node.aval for node in nodes]
        self.order = list(dict.fromkeys([-1 - r for key in keys for r in key[2:] if r < 0]))
        after = [(number, variable._tensor) for number, variable in enumerate(variables)]
        changed = [(number, tensor.node) for number, tensor in after if tensor is not before.held[number]]
        reads, names = self._trace.reads[before.counts[0] :], self._trace.names[before.counts[1] :]
        number_of = {variable._uid: number for number, variable in enumerate(variables)}
        origins = {journal.origin_of(node): node for node in (*held, *nodes, *given)}
        self.form = Form(
            len(given),
            tuple(used),
            keys,
            [(at - self._first, before.variables[id(v)], self._reference(node)) for at, v, node in reads],
            [(at - self._first, name, [*map(self._reference, named)]) for at, name, named in names],
            [(at - self._first, to) for serial, at, to in marks if serial == self._trace.serial],
            [(x.how, self._reference(_of(origins, x.origin)), x.moment[1] - self._first) for x in left],
            [(_of(number_of, uid), self._reference(_of(origins, origin))) for uid, _, origin in assigned],
            [(number, self._inside(node)) for number, node in changed],
            [stages.Check(op, attrs, tuple(map(self._reference, checked))) for op, attrs, checked in before.checks],
            [self._reference(x.node) for x in results[0]],
        )
        self.structure, self.constants = results[1], self._constants
        self._avals_of_slots = tuple([node.aval for node in (*given, *[held[variable] for variable in used], *self._constants)])
        self.laid_out: tuple[tuple[int, ...], list[tuple[Any, ...]]] = (), []  # the last references, and the keys made with them
        del self._trace, self._slots

    def _variables_read(self, nodes: Sequence[Node], held: Sequence[Node], before: _Before) -> list[int]:
        """Return the variables whose values the call took; Unlike if such a value is also another variable's or an argument."""
        taken = dict.fromkeys([x for node in nodes for x in self._plain(node).inputs])
        numbers: dict[Node, int] = {}
        for number, node in enumerate(held):
            if node in taken and (node in numbers or node in self._slots):
                raise Unlike
            numbers[node] = number
        if any(id(v) not in before.variables for _, v, _ in before.trace.reads[before.counts[0] :]):
            raise Unlike
        return [numbers[node] for node in taken if node in numbers]

    def _plain(self, node: Node) -> Node:
        """Return a node that can be replayed; else raise Unlike."""
        key = node.key
        if key[0] is RAN or node.inputs is None or key[0].on_host or effectful(key) or Trait.DEMANDED in key[0].traits:
            raise Unlike
        return node

    def _inside(self, node: Node) -> int:
        if node.trace is not self._trace or node.index < self._first:
            raise Unlike
        return node.index - self._first

    def _reference(self, node: Node) -> int:
        if node.trace is self._trace and node.index >= self._first:
            return node.index - self._first
        slot = None if node.index == NUMBER else self._slots.get(node)
        if slot is None:
            if node.value is None:
                raise Unlike  # a pending value that is not an argument
            slot = self._count + len(self._constants)
            self._constants.append(node)
            if node.index != NUMBER:  # each use of a number is another leaf
                self._slots[node] = slot
        return -1 - slot

    @functools.cached_property
    def _checks(self) -> stages.Checks | None:
        """The checks of the call; None if the host cannot compute what they look at."""
        return stages.checks(Program(tuple(self.form.keys), tuple(self.avals), self._avals_of_slots, ()), self.form.checks)

    def equals(self, other: Record) -> bool:
        """Return whether two calls recorded the same."""
        same = self.form == other.form and self.avals == other.avals and self.structure == other.structure
        return same and len(self.constants) == len(other.constants) and all(map(_one, self.constants, other.constants))

    def enter(self, given: Sequence[Node], variables: Sequence[Variable]) -> Results | None:
        """Append the record to the thread's trace; None if the code has to run, as values are missing or wrong."""
        form, checks = self.form, self._checks
        trace = _room()
        slots = [*given, *[variables[i]._tensor.node for i in form.read], *self.constants]
        if checks is None or tuple([node.aval for node in slots]) != self._avals_of_slots:
            return None
        for i in checks.part.reads:
            engine.peek(slots[i])
        if not execution.hold(checks, [node.value for node in slots]):
            return None  # the code raises the error at its own place
        for node in slots:
            if node.value is None and node.trace is not trace and node not in trace.leaf_index:
                engine.adopt(trace, node)  # its recomputation comes before the ops that use it
        first = len(trace.nodes)
        values = [*self._append(trace, slots), *slots[::-1]]
        self._note(trace, first, values, variables)
        return [handle(values[r]) for r in form.results], self.structure

    def _append(self, trace: Trace, slots: Sequence[Node]) -> list[Node]:
        """Append the nodes of the record."""
        first, nodes, known, references = len(trace.nodes), trace.nodes, trace.leaf_index, []
        for slot in self.order:
            node = slots[slot]
            reference = node.index if node.trace is trace else None if node.index == NUMBER else known.get(node)
            references.append(trace.add_leaf(node) if reference is None else reference)
        laid_out, keys = self.laid_out
        if laid_out != (first, *references):
            of = dict(zip([-1 - slot for slot in self.order], references, strict=True))
            keys = [(*k[:2], *[r + first if r >= 0 else of[r] for r in k[2:]]) for k in self.form.keys]
            self.laid_out = (first, *references), keys  # in one step, since another thread may replay it, too
        code, offset = line_outside()
        values: list[Any] = [*[None] * len(keys), *slots[::-1]]
        for i, (key, relative, aval) in enumerate(zip(keys, self.form.keys, self.avals, strict=True)):
            inputs = tuple([values[r] for r in relative[2:]])
            node = values[i] = Node(key, inputs, aval, trace, first + i, code, offset)
            nodes.append(node)
        return values[: len(keys)]

    def _note(self, trace: Trace, first: int, values: Sequence[Node], variables: Sequence[Variable]) -> None:
        """Note the reads, names and assignments of the call."""
        form, serial = self.form, trace.serial
        trace.reads += [(first + at, variables[v], values[r]) for at, v, r in form.reads]
        trace.names += [(first + at, name, [values[r] for r in named]) for at, name, named in form.names]
        scopes.marks().extend([(serial, first + at, to) for at, to in form.marks])
        for how, reference, at in form.left:
            journal.left_at(how, values[reference], (serial, first + at))
        journal.assigned_again([(variables[v]._uid, serial, journal.origin_of(values[r])) for v, r in form.journaled])
        hold_all([variables[v] for v, _ in form.assigned], [values[r] for _, r in form.assigned], noted=True)


def _room() -> Trace:
    """Return the thread's trace for the next ops: a new one if `engine.record` would begin one."""
    trace = engine.local.trace
    return engine._cut(trace) if len(trace.nodes) >= trace.limit else trace


def _of(known: dict[Any, Any], key: Any) -> Any:
    if key not in known:
        raise Unlike
    return known[key]


@twins.in_c
def all_hold(parts: list[Any], held: list[Any]) -> bool:
    """Return whether these lists, sets and dicts hold these objects one after another: the same ones, not equal ones."""
    found = itertools.chain.from_iterable([part.values() if isinstance(part, dict) else part for part in parts])
    return [*map(id, found)] == [*map(id, held)]


def _one(some: Node, other: Node) -> bool:
    """Return whether two constants are the same leaf, or leaves of equal values."""
    if some is other or some.value is other.value:
        return True
    if some.aval is not other.aval or some.aval.size > COMPARED or (some.index == NUMBER) != (other.index == NUMBER):
        return False
    return np.asarray(some.value).tobytes() == np.asarray(other.value).tobytes()
