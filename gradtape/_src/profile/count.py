"""The cost of a normal Program: each op once, a loop's ops once for each trip, of branches the one taken.

Trips and branches may depend on values. Then as much of the Program is run as their computation needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradtape._src.control.programs import narrowed
from gradtape._src.core.engine import execution
from gradtape._src.core.programs.op import Attributes
from gradtape._src.core.programs.program import ELEMENT, Key, Line, Program, memoized, read_by
from gradtape._src.core.programs.structured import BRANCH, ROWS, HeldProgram, StructuredOp
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.values.aval import bytes_of
from gradtape._src.profile.formulas import flops, moved
from gradtape._src.profile.normal import UNKNOWN, Place, normal, placed, pruned

Values = Sequence[Any] | None  # the values of a Program's parameters; None if unknown


@dataclass
class CountEntry:
    """The costs of one op type at one line: number of runs, FLOPs, bytes."""

    runs: float = 0
    flops: float = 0
    bytes: float = 0


@dataclass
class Tally:
    """Costs by (op type, line, whether there is a formula); `open` are the lines of loops with an unknown number of trips.

    Ops recorded at the line `asking`, which requested the gradient, count for the line of their loop or branch. Those in a
    layer are not the gradient's: a call of `fit` is the line of both.
    """

    asking: Line = UNKNOWN[:2]
    entries: dict[tuple[str, Place, bool], CountEntry] = field(default_factory=dict)
    open: set[Place] = field(default_factory=set)

    def line(self, line: Any, around: Place) -> Place:
        """Return the place of a line within a Program that is called at `around`."""
        return around if line[:2] == self.asking and not any(line[2:]) else placed(line, around)

    def add(self, key: Key, inputs: Sequence[Any], result: Any, line: Place, times: float) -> None:
        """Count `times` runs of an op."""
        op, attrs, *_ = key
        cost = flops(op, attrs, inputs, result)
        entry = self.entries.setdefault((op.type, line, cost is not None), CountEntry())
        entry.runs += times
        entry.flops += times * (cost or 0)
        entry.bytes += times * moved(op, inputs, result)

    def merge(self, other: Tally) -> None:
        """Add the counts of `other`."""
        for key, more in other.entries.items():
            entry = self.entries.setdefault(key, CountEntry())
            entry.runs, entry.flops, entry.bytes = entry.runs + more.runs, entry.flops + more.flops, entry.bytes + more.bytes
        self.open |= other.open

    def minus(self, other: Tally) -> Tally:
        """Return these counts without those of `other`, a part of them."""
        entries = {}
        for key, entry in self.entries.items():
            less = other.entries.get(key, CountEntry())
            if entry.runs > less.runs:
                entries[key] = CountEntry(entry.runs - less.runs, entry.flops - less.flops, entry.bytes - less.bytes)
        return Tally(self.asking, entries, self.open - other.open)


def _open(key: Key) -> bool:
    """Return whether the cost of an op depends on values."""
    op, attrs, *_ = key
    if not isinstance(op, StructuredOp) or op.kind is ROWS:
        return False
    return _decision(op, attrs) is not None or any(depends_on_values(program) for program, _ in op.runs(attrs))


def _decision(op: StructuredOp, attrs: Attributes) -> tuple[bool, int] | None:
    """Return the value that decides which Programs run and how often: `(whether it is a result, its position)`, or None."""
    result, given = op.counted_by(op.form(*attrs)), op.decided_by(op.form(*attrs))
    return (True, result) if result is not None else None if given is None else (False, given)


@memoized
def depends_on_values(program: Program) -> bool:
    """Return whether the cost of a normal Program depends on values."""
    return any(map(_open, program.keys))


class Varies(Exception):
    """A cost differs between trips."""


def evaluated(program: Program, values: Sequence[Any], references: Sequence[int]) -> list[Any]:
    """Return the values of `references` in a normal Program; Varies if they depend on a parameter with value None."""
    asked, kept = _asked(program, *references)
    arguments = [*values, *program.constants]
    if any(arguments[i] is None for i in kept):
        raise Varies
    return list(execution.execute(asked, [arguments[i] for i in kept]))


@memoized
def _asked(program: Program, *references: int) -> tuple[Program, list[int]]:
    """Return the Program of these values, and which of the parameters and constants it takes."""
    asked = pruned(Program(program.keys, program.avals, program.parameters, tuple(references), (), program.lines))
    kept = sorted(read_by(asked))
    return narrowed(asked, kept), kept


@dataclass
class Step:
    """A loop, branch or vectorised call, run `times` times; `decision` is the branch or the number of trips, None if unknown."""

    program: Program
    values: Values
    index: int
    decision: Any
    tally: Tally
    times: float
    line: Place

    @property
    def key(self) -> Key:
        """The op with its inputs."""
        return self.program.keys[self.index]

    def count(self) -> None:
        """Count the op's Programs as often as they run."""
        op, attrs, *_ = self.key
        runs = op.runs(attrs, self.decision)
        if self.values is None or (self.decision is None and _decision(op, attrs) is not None):
            if _open(self.key):
                self.tally.open.add(self.line)
            if op.kind is BRANCH:
                runs = [max(runs, key=lambda run: _static_flops(run[0]))]
            for inside, times in runs:
                self.run(inside, times)
            return
        fixed = {id(body.program): body for body in op.bodies(attrs)}
        trial = Tally(self.tally.asking)
        try:
            for inside, times in runs:
                self.run(inside, times, self._fixed(fixed[id(inside)]) if depends_on_values(inside) else None, trial)
        except Varies:
            op.interpret(_Counted(self), attrs, evaluated(self.program, self.values, self.key[2:]))
        else:
            self.tally.merge(trial)

    def _fixed(self, body: HeldProgram) -> list[Any]:
        """Return the values of a Program's parameters that are the same in all trips; None for the others."""
        assert self.values is not None
        references = self.key[2:]
        same = [p for p in range(len(body.takes)) if p not in body.rows and p not in body.carried]
        found = evaluated(self.program, self.values, [references[body.takes[p]] for p in same])
        values: list[Any] = [None] * len(body.takes)
        for p, value in zip(same, found, strict=True):
            values[p] = value
        return values

    def run(self, inside: Program, times: float, values: Values = None, tally: Tally | None = None) -> None:
        """Count `times` runs of an inner Program."""
        count(inside, values, self.tally if tally is None else tally, self.times * times, self.line)


class _Counted(execution.OnHost):
    """An Interpreter that counts the ops it runs, for loops whose trips differ in cost."""

    residuals = False

    def __init__(self, step: Step) -> None:
        self._step = step

    def call(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Count and run a Program."""
        self._step.run(program, 1, inputs if depends_on_values(program) else None)
        return super().call(program, inputs)


def count(program: Program, values: Values, tally: Tally, times: float = 1, around: Place = UNKNOWN) -> None:
    """Add the cost of `times` runs of a normal Program on `values` to `tally`; `around` is the line that calls it."""
    decisions = _decisions(program, values) if values is not None and depends_on_values(program) else {}
    for index, key in enumerate(program.keys):
        op, _, *references = key
        line = tally.line(program.lines[index] if program.lines else UNKNOWN, around)
        if isinstance(op, StructuredOp):
            step = Step(program, values, index, decisions.get(index), tally, times, line)
            _vectorized(step) if op.kind is ROWS else step.count()
        elif op is not ELEMENT:
            tally.add(key, [program.aval_of(r) for r in references], program.avals[index], line, times)


def _decisions(program: Program, values: Sequence[Any]) -> dict[int, Any]:
    """Return the deciding values by node: the index of a branch, the number of trips of a loop."""
    whole, references = _deciding(program)
    found = evaluated(whole, values, tuple(references.values()))
    return {index: np.asarray(value).item() for index, value in zip(references, found, strict=True)}


@memoized
def _deciding(program: Program) -> tuple[Program, dict[int, int]]:
    """Return a Program with the elements of results that decide, and the reference of the deciding value of each node."""
    keys, avals, references = list(program.keys), list(program.avals), {}
    for index, (op, attrs, *inputs) in enumerate(program.keys):
        decision = _decision(op, attrs) if isinstance(op, StructuredOp) else None
        if decision is None:
            continue
        result, position = decision
        references[index] = len(keys) if result else inputs[position]
        if result:
            keys.append((ELEMENT, (position,), index))
            avals.append(program.avals[index][position])
    lines: Any = (*program.lines, *[UNKNOWN] * (len(keys) - len(program.keys)))
    return Program(tuple(keys), tuple(avals), program.parameters, (), program.constants, lines), references


def _static_flops(program: Program) -> float:
    tally = Tally()
    count(program, None, tally)
    return sum([entry.flops for entry in tally.entries.values()])


def _vectorized(step: Step) -> None:
    """Count ops that depend on mapped inputs once for each row, and the others once."""
    _, (inside, mapped, *_), *inputs = step.key
    rows = next(step.program.aval_of(r).shape[0] for r, m in zip(inputs, mapped, strict=True) if m)
    whole = normal(inside)
    each: list[bool] = []
    for index, (op, attrs, *references) in enumerate(whole.keys):
        each.append(any(each[r] if r >= 0 else -1 - r < len(mapped) and mapped[-1 - r] for r in references))
        own = tuple([whole.aval_of(r) for r in references])
        keys = ((op, attrs, *[-1 - k for k in range(len(own))]),)
        alone = Program(keys, (whole.avals[index],), own, (0,), (), (whole.lines[index],))
        step.run(alone, rows if each[-1] else 1)


def peak(program: Program) -> int:
    """Return the peak of live bytes when a normal Program runs op by op in order, freeing each value after its last use.

    An estimate without fusion: XLA mostly needs less, since fused values take no memory.
    """
    root: list[int] = []  # for each node, the node with whose memory it shares its own
    last: dict[int, int] = {}
    for index, (op, _, *references) in enumerate(program.keys):
        roots = [root[r] if r >= 0 else r for r in references]
        root.append(roots[0] if Trait.RENAMES in op.traits and roots else index)
        last.update(dict.fromkeys([*roots, root[-1]], index))
    last.update(dict.fromkeys([root[r] for r in program.outputs if r >= 0], len(program.keys)))
    ends: dict[int, list[int]] = {}
    for reference, index in last.items():
        if reference >= 0:
            ends.setdefault(index, []).append(reference)
    alive = most = sum(map(bytes_of, program.parameters))
    for index, key in enumerate(program.keys):
        alive += bytes_of(program.avals[index]) if root[index] == index else 0
        most = max(most, alive + max(map(_peak_inside, key[0].programs(key[1])), default=0))
        alive -= sum([bytes_of(program.avals[r]) for r in ends.get(index, ())])
    return most


def _peak_inside(program: Program) -> int:
    return peak(normal(program)) - sum(map(bytes_of, program.parameters))
