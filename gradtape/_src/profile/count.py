"""Adds up what a normal Program costs: each op once, those in a loop as often as it makes trips, of branches the one taken.

How many trips a loop makes, and which way a branch goes, may depend on values. Then the Program is run, as far as that takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gradtape._src.autodiff.vectorized import VECTORIZED_CALL
from gradtape._src.control.bounded_scan import SCAN, WHILE
from gradtape._src.control.branch import CASE, IF
from gradtape._src.core import execution
from gradtape._src.core.aval import bytes_of
from gradtape._src.core.program import ELEMENT, Key, Line, Program
from gradtape._src.profile.formulas import NAMES, flops, moved
from gradtape._src.profile.normal import UNKNOWN, Place, narrowed, normal, placed, pruned, used

Values = Sequence[Any] | None  # of a Program's parameters; None where they are not known


@dataclass
class Entry:
    """What one type of op costs at one line: how often it runs, FLOPs, bytes."""

    runs: float = 0
    flops: float = 0
    bytes: float = 0


@dataclass
class Tally:
    """The costs by (op type, line, whether there is a formula); `open` are the lines of loops whose trips are not known.

    What was recorded at the line `asking`, which asked for the gradient, belongs to the loop or branch that it is part of.
    """

    asking: Line = UNKNOWN[:2]
    entries: dict[tuple[str, Place, bool], Entry] = field(default_factory=dict)
    open: set[Place] = field(default_factory=set)

    def line(self, line: Any, around: Place) -> Place:
        """The place of a line that is part of what stands at `around`."""
        return around if line[:2] == self.asking else placed(line, around)

    def add(self, key: Key, inputs: Sequence[Any], result: Any, line: Place, times: float) -> None:
        """Count `times` runs of an op."""
        op, attrs, *_ = key
        cost = flops(op, attrs, inputs, result)
        entry = self.entries.setdefault((op.type, line, cost is not None), Entry())
        entry.runs += times
        entry.flops += times * (cost or 0)
        entry.bytes += times * moved(op, inputs, result)

    def merge(self, other: Tally) -> None:
        """Count what `other` counted, too."""
        for key, more in other.entries.items():
            entry = self.entries.setdefault(key, Entry())
            entry.runs, entry.flops, entry.bytes = entry.runs + more.runs, entry.flops + more.flops, entry.bytes + more.bytes
        self.open |= other.open

    def minus(self, other: Tally) -> Tally:
        """What this one counts beyond `other`, which is part of it."""
        entries = {}
        for key, entry in self.entries.items():
            less = other.entries.get(key, Entry())
            if entry.runs > less.runs:
                entries[key] = Entry(entry.runs - less.runs, entry.flops - less.flops, entry.bytes - less.bytes)
        return Tally(self.asking, entries, self.open - other.open)


def inside_of(key: Key) -> tuple[Program, ...]:
    """The Programs that an op runs: a loop's condition and body, branches, what is vectorized."""
    op, attrs, *_ = key
    if op is CASE:
        return tuple(attrs[0])
    if op is IF:
        return tuple(attrs)
    if op is WHILE:
        return tuple(attrs[:2])
    return (attrs[0],) if op is SCAN or op is VECTORIZED_CALL else ()


def _open(key: Key) -> bool:
    """Whether what an op costs depends on values."""
    op, attrs, *_ = key
    if op is VECTORIZED_CALL:
        return False
    return op in (IF, CASE, WHILE) or (op is SCAN and attrs[5]) or any(map(depends_on_values, inside_of(key)))


def depends_on_values(program: Program) -> bool:
    """Whether what a normal Program costs depends on values."""
    known = program.derived.get("depends on values")
    if known is None:
        known = program.derived["depends on values"] = any(map(_open, program.keys))
    return bool(known)


class Varies(Exception):
    """What a cost depends on is not the same in all trips."""


def evaluated(program: Program, values: Sequence[Any], references: Sequence[int]) -> list[Any]:
    """The values of `references` in a normal Program; Varies if they depend on a parameter whose value is None."""
    made = program.derived.get(("asked", *references))
    if made is None:
        asked = Program(program.keys, program.avals, program.parameters, tuple(references), (), program.lines)
        asked = pruned(asked)
        kept = sorted(used(asked))
        made = program.derived[("asked", *references)] = narrowed(asked, kept), kept
    asked, kept = made
    arguments = [*values, *program.constants]
    if any(arguments[i] is None for i in kept):
        raise Varies
    return list(execution.execute(asked, [arguments[i] for i in kept]))


@dataclass
class Step:
    """A loop, branch or vectorized call in a Program that is counted, `times` times; `decision` is a branch's choice, a loop's
    trips, or None where values are not known."""

    program: Program
    values: Values
    index: int
    decision: Any
    tally: Tally
    times: float
    line: Place

    @property
    def key(self) -> Key:
        """The op and what it takes."""
        return self.program.keys[self.index]

    def inputs(self) -> list[Any]:
        """The values that it takes."""
        assert self.values is not None
        return evaluated(self.program, self.values, self.key[2:])

    def count(self, inside: Program, times: float, values: Values = None) -> None:
        """Count `times` runs of a Program in it."""
        count(inside, values, self.tally, self.times * times, self.line)

    def count_if_same(self, inside: Program, times: int, consts: int, at: int) -> bool:
        """Count `times` runs whose costs are all the same, as they depend on constants only; False if they do not.

        The constants are the inputs from `at` on.
        """
        if not depends_on_values(inside):
            self.count(inside, times)
            return True
        assert self.values is not None
        trial = Tally(self.tally.asking)
        try:
            fixed = evaluated(self.program, self.values, self.key[2 + at : 2 + at + consts])
            unknown = [None] * (len(inside.parameters) - len(inside.constants) - consts)
            count(inside, [*fixed, *unknown], trial, self.times * times, self.line)
        except Varies:
            return False
        self.tally.merge(trial)
        return True


def count(program: Program, values: Values, tally: Tally, times: float = 1, around: Place = UNKNOWN) -> None:
    """Add to `tally` what `times` runs of a normal Program on `values` cost; `around` is the line of the op that runs it."""
    decisions = _decisions(program, values) if values is not None and depends_on_values(program) else {}
    for index, key in enumerate(program.keys):
        op, _, *references = key
        line = tally.line(program.lines[index] if program.lines else UNKNOWN, around)
        if op in _STRUCTURED:
            _STRUCTURED[op](Step(program, values, index, decisions.get(index), tally, times, line))
        elif op is not ELEMENT:
            tally.add(key, [program.aval_of(r) for r in references], program.avals[index], line, times)


def _decisions(program: Program, values: Sequence[Any]) -> dict[int, Any]:
    """What decides the costs of loops and branches: of a branch the choice, of a loop the number of trips; by node."""
    made = program.derived.get("decisions")
    if made is None:
        keys, avals, references = list(program.keys), list(program.avals), {}
        for index, (op, attrs, *inputs) in enumerate(program.keys):
            if op is WHILE:  # the number of trips is among what it gives
                keys.append((ELEMENT, (attrs[3],), index))
                avals.append(program.avals[index][attrs[3]])
                references[index] = len(keys) - 1
            elif op in (IF, CASE) or (op is SCAN and attrs[5]):
                references[index] = inputs[0]
        lines: Any = (*program.lines, *[UNKNOWN] * (len(keys) - len(program.keys)))
        whole = Program(tuple(keys), tuple(avals), program.parameters, (), program.constants, lines)
        made = program.derived["decisions"] = whole, references
    whole, references = made
    return dict(zip(references, evaluated(whole, values, tuple(references.values())), strict=True))


def _while(step: Step) -> None:
    cond, body, consts, _, _, limit = step.key[1]
    trips = step.decision
    if trips is None:
        step.tally.open.add(step.line)
        trips = 1 if limit is None else limit
        step.count(cond, trips + 1)
        step.count(body, trips)
        return
    if step.count_if_same(body, int(trips), consts, 0):
        step.count(cond, int(trips) + 1)
        return
    given = step.inputs()
    fixed, carried = given[:consts], given[consts:]
    step.count(cond, int(trips) + 1)
    for _ in range(int(trips)):
        step.count(body, 1, [*fixed, *carried])
        carried = list(execution.execute(body, [*fixed, *carried]))


def _scan(step: Step) -> None:
    body, consts, carry, length, reverse, dynamic, _ = step.key[1]
    if step.values is None and (dynamic or depends_on_values(body)):
        step.tally.open.add(step.line)
    if step.values is None:
        step.count(body, length)
        return
    trips = int(step.decision) if dynamic else length
    if step.count_if_same(body, trips, consts, 1):
        return
    _, *given = step.inputs()
    fixed, carried, xs = given[:consts], given[consts : consts + carry], given[consts + carry :]
    for at in reversed(range(trips)) if reverse else range(trips):
        arguments = [*fixed, *carried, *[x[at] for x in xs]]
        step.count(body, 1, arguments)
        carried = list(execution.execute(body, arguments)[:carry])


def _branches(step: Step) -> None:
    branches = inside_of(step.key)
    if step.decision is None:
        step.tally.open.add(step.line)
        step.count(max(branches, key=_static_flops), 1)
        return
    number = int(step.decision) if step.key[0] is CASE else int(not step.decision)
    chosen = branches[number if 0 <= number < len(branches) else -1]
    step.count(chosen, 1, step.inputs()[1:] if depends_on_values(chosen) else None)


def _static_flops(program: Program) -> float:
    tally = Tally()
    count(program, None, tally)
    return sum([entry.flops for entry in tally.entries.values()])


def _vectorized(step: Step) -> None:
    """What depends on a mapped argument is done once for each row, the rest once."""
    _, (inside, mapped, *_), *inputs = step.key
    rows = next(step.program.aval_of(r).shape[0] for r, m in zip(inputs, mapped, strict=True) if m)
    whole = normal(inside)
    each: list[bool] = []
    for index, (op, attrs, *references) in enumerate(whole.keys):
        each.append(any(each[r] if r >= 0 else -1 - r < len(mapped) and mapped[-1 - r] for r in references))
        own = tuple([whole.aval_of(r) for r in references])
        keys = ((op, attrs, *[-1 - k for k in range(len(own))]),)
        alone = Program(keys, (whole.avals[index],), own, (0,), (), (whole.lines[index],))
        step.count(alone, rows if each[-1] else 1)


_STRUCTURED = {WHILE: _while, SCAN: _scan, IF: _branches, CASE: _branches, VECTORIZED_CALL: _vectorized}


def peak(program: Program) -> int:
    """The most bytes that are alive at once if a normal Program runs op by op, in its order, each value freed after its last use.

    A forecast without fusion: XLA, which keeps what it fuses out of memory, mostly needs less.
    """
    root: list[int] = []  # of each node the one whose memory it shows
    last: dict[int, int] = {}
    for index, (op, _, *references) in enumerate(program.keys):
        roots = [root[r] if r >= 0 else r for r in references]
        root.append(roots[0] if op.type in NAMES and roots else index)
        last.update(dict.fromkeys([*roots, root[-1]], index))
    last.update(dict.fromkeys([root[r] for r in program.outputs if r >= 0], len(program.keys)))
    ends: dict[int, list[int]] = {}
    for reference, index in last.items():
        if reference >= 0:
            ends.setdefault(index, []).append(reference)
    alive = most = sum(map(bytes_of, program.parameters))
    for index, key in enumerate(program.keys):
        alive += bytes_of(program.avals[index]) if root[index] == index else 0
        most = max(most, alive + max(map(_peak_inside, inside_of(key)), default=0))
        alive -= sum([bytes_of(program.avals[r]) for r in ends.get(index, ())])
    return most


def _peak_inside(program: Program) -> int:
    return peak(normal(program)) - sum(map(bytes_of, program.parameters))
