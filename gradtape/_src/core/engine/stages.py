"""The stages of a Program that cannot run as a whole: it has nodes on the host, is too wide for the compiler, or would be slow
to compile because fusion repeats its ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.programs import guards
from gradtape._src.core.programs.op import Attributes, Op, ops
from gradtape._src.core.programs.program import ELEMENT, Key, Line, Program, leading_to, memoized
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.values.aval import bytes_of

PART = 512  # inputs and nodes of a stage, at most
PIECE = 24  # inputs and nodes of a piece, at most

Interned = Callable[[Program], Program]  # returns the earliest Program of the same structure


class Stages(NamedTuple):
    """The stages of a Program, `made` in the order of its nodes; `outputs` are references among their values.

    A stage is a Program or `(op, attributes, line)`, with the references of its inputs, of its outputs, and of the values that no
    later stage reads.
    """

    made: list[tuple[Any, list[int], list[int], list[int]]]
    constants: tuple[np.ndarray, ...]
    outputs: tuple[int, ...]


@memoized
def of(program: Program, interned: Interned) -> Stages | None:
    """Return the Stages of a Program that is `staged`; None if a single stage suffices."""
    if program.hosted:
        return _around_host(program, interned)
    found = _cut_after(PART, written_out(program), interned)
    return found if len(found.made) > 1 else None


@memoized
def pieces_of(program: Program, interned: Interned) -> Stages:
    """Return short Stages for a Program whose results depend on each other, so that fusion repeats little in each."""
    return _cut_after(PIECE, program, interned)


class _Cutter:
    """The builder of a Program's `stages`."""

    def __init__(self, program: Program, interned: Interned) -> None:
        self.stages = Stages([], program.constants, program.outputs)
        self._program, self._interned = program, interned
        self._last = {r: index for index, key in enumerate(program.keys) for r in key[2:]}
        self._last |= dict.fromkeys(program.outputs, len(program.keys))

    def alone(self, index: int) -> None:
        """Make a stage of one node that runs on the host."""
        program, key = self._program, self._program.keys[index]
        line = program.lines[index] if program.lines else (None, 0)
        self.stages.made.append(((*key[:2], line), list(key[2:]), [index], self._done(key[2:], index)))

    def close(self, nodes: Sequence[int]) -> None:
        """Make a stage of nodes that follow each other: a Program of its own."""
        program, keys, end = self._program, self._program.keys, nodes[-1]
        inputs = sorted({r for i in nodes for r in keys[i][2:]}.difference(nodes))
        outputs = [i for i in nodes if self._last.get(i, -1) > end]
        parameters = [program.aval_of(r) for r in inputs]
        made = program.sliced(nodes, outputs, {r: -1 - k for k, r in enumerate(inputs)}, parameters, ())
        if not made.guarded:  # such stages share their code whatever their lines are
            made.lines = ()
        self.stages.made.append((self._interned(made), inputs, outputs, self._done(inputs, end)))

    def _done(self, inputs: Sequence[int], end: int) -> list[int]:
        return [r for r in set(inputs) if r >= 0 and self._last[r] <= end]


def _cut_after(most: int, program: Program, interned: Interned) -> Stages:
    """Cut a Program into consecutive stages with at most `most` inputs and nodes together."""
    cutter = _Cutter(program, interned)
    part: list[int] = []
    inputs: set[int] = set()
    for index, (op, _, *references) in enumerate(program.keys):
        reads = {r for r in references if r < 0 or not part or r < part[0]}
        size = len(part) + len(inputs) + len(reads - inputs)
        if part and size >= most and op is not ELEMENT:  # a tuple stays with its elements
            cutter.close(part)
            part, inputs, reads = [], set(), set(references)
        part.append(index)
        inputs |= reads
    if part:
        cutter.close(part)
    return cutter.stages


def _around_host(program: Program, interned: Interned) -> Stages:
    """Make a stage of each node on the host, and one of the nodes between two of them."""
    cutter = _Cutter(program, interned)
    pure: list[int] = []
    on_host = program.on_host
    for index, key in enumerate(program.keys):
        if index not in on_host and not (key[0] is ELEMENT and key[2] in on_host):
            pure.append(index)
            continue
        if pure:
            cutter.close(pure)
            pure = []
        cutter.alone(index)
    if pure:
        cutter.close(pure)
    return cutter.stages


def written_out(program: Program) -> Program:
    """Inline the calls of a Program, and split its nodes with many inputs into trees of nodes."""
    return _WrittenOut(program).program


class _WrittenOut:
    """The builder of `program`, for `written_out`."""

    def __init__(self, program: Program) -> None:
        self._keys: list[Key] = []
        self._avals: list[Any] = []
        self._lines: list[Line] = []
        self._constants: list[np.ndarray] = []
        self._parameters = list(program.parameters[: len(program.parameters) - len(program.constants)])
        outputs = tuple(self._enter(program, [-1 - i for i in range(len(self._parameters))]))
        keys, avals, parameters, constants = self._keys, self._avals, self._parameters, self._constants
        self.program = Program(tuple(keys), tuple(avals), tuple(parameters), outputs, tuple(constants), tuple(self._lines))

    def _enter(self, program: Program, leaves: list[int]) -> list[int]:
        """Append the nodes of a Program; return the references of its outputs."""
        first = len(leaves)
        leaves = [*leaves, *[self._constant(a, c) for a, c in zip(program.parameters[first:], program.constants, strict=True)]]
        at: list[Any] = []  # the reference of each node; for a call, the list of those of its results
        lines = program.lines or ((None, 0),) * len(program.keys)
        for (op, attrs, *references), aval, line in zip(program.keys, program.avals, lines, strict=True):
            inputs = [at[r] if r >= 0 else leaves[-1 - r] for r in references]
            if op.is_call:
                at.append(self._enter(attrs[0], inputs))
            elif op is ELEMENT and type(inputs[0]) is list:
                at.append(inputs[0][attrs[0]])
            else:
                at.append(self._append(op, attrs, inputs, aval, line))
        return [at[r] if r >= 0 else leaves[-1 - r] for r in program.outputs]

    def _append(self, op: Op, attrs: Attributes, inputs: list[int], aval: Any, line: Line) -> int:
        """Append a node, or a tree of nodes if it has too many inputs; return its reference."""
        while op.joins is not None and len(inputs) > PART:
            groups = [inputs[i : i + PART] for i in range(0, len(inputs), PART)]
            avals = [op.result(tuple(map(self._aval_of, group)), attrs) for group in groups]
            inputs = [self._append(op, attrs, group, a, line) for group, a in zip(groups, avals, strict=True)]
            op = ops[op.joins]
        self._keys.append((op, attrs, *inputs))
        self._avals.append(aval)
        self._lines.append(line)
        return len(self._keys) - 1

    def _constant(self, aval: Any, array: np.ndarray) -> int:
        self._parameters.append(aval)
        self._constants.append(array)
        return -len(self._parameters)

    def _aval_of(self, reference: int) -> Any:
        return self._avals[reference] if reference >= 0 else self._parameters[-1 - reference]


MOST = 128  # ops of a part that spares a wait, at most
MOST_BYTES = 1 << 16  # bytes of the values in such a part, at most


class Part(NamedTuple):
    """The part of a Program that computes some outputs: a Program whose parameters are those that it `reads`.

    `hosted`: for each node, whether it is an op, and no element of a tuple. `whole`: whether all ops are on integers. `few`:
    whether there are few, on small values.
    """

    program: Program
    reads: tuple[int, ...]
    hosted: tuple[bool, ...]
    whole: bool
    few: bool


class Check(NamedTuple):
    """A check of an op's values, at these references."""

    op: Op
    attrs: Attributes
    references: tuple[int, ...]


class Checks(NamedTuple):
    """The checks of a Program which can be made before it runs; the outputs of `part` are the values that they look at."""

    part: Part
    made: tuple[Check, ...]


@memoized
def of_integers(program: Program, output: int) -> Part | None:
    """Return the part of a Program that computes one output, if it has few ops, all on integers and able to run on the host."""
    flat = written_out(program)
    return _little(_part(flat, [flat.outputs[output]]))


@memoized
def steered(program: Program) -> Checks | None:
    """Return the checks that a Program makes while it runs; None if their values do not come of a few integer ops."""
    flat = written_out(program)
    if any(p.guarded for op, attrs, *_ in flat.keys if not op.guards for p in op.programs(attrs)):
        return None
    found = checks(flat, [Check(op, attrs, tuple(guards.checked(op, r))) for op, attrs, *r in flat.keys if op.guards])
    return None if found is None or _little(found.part) is None else found


def checks(program: Program, made: Sequence[Check]) -> Checks | None:
    """Return the checks of values at references of a Program; None if an op that leads to them cannot run on the host."""
    looked_at = [r for check in made for r in check.references]
    flat = written_out(program.sliced(range(len(program.keys)), looked_at))
    part = _part(flat, flat.outputs)
    return None if part is None else Checks(part, tuple(made))


def _little(part: Part | None) -> Part | None:
    return part if part is not None and part.whole and part.few else None


def _part(flat: Program, outputs: Sequence[int]) -> Part | None:
    wanted, count = leading_to(flat.keys, outputs), arity(flat)
    kept = sorted([r for r in wanted if r >= 0])
    if not all(flat.keys[i][0] is ELEMENT or flat.keys[i][0].hosted for i in kept):
        return None
    reads = tuple(sorted([-1 - r for r in wanted if 0 < -r <= count]))
    taken = (*reads, *range(count, len(flat.parameters)))
    program = flat.sliced(kept, outputs, {-1 - p: -1 - k for k, p in enumerate(taken)}, [flat.parameters[p] for p in taken])
    whole = all(map(is_whole, program.avals))
    few = len(kept) <= MOST and sum([bytes_of(flat.aval_of(r)) for r in wanted]) <= MOST_BYTES
    return Part(program, reads, tuple([key[0] is not ELEMENT for key in program.keys]), whole, few)


def is_whole(of: Any) -> bool:
    """Return whether an Aval, or each of several, is of integers or booleans."""
    return all(map(is_whole, of)) if type(of) is tuple else of.dtype.kind in "iub"
