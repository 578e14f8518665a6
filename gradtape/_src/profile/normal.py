"""The normal form of a Program: calls inlined, common subexpressions merged, dead code removed.

XLA does the same before it compiles, so that costs are counted on this form. For example, a function's gradient repeats the
function's forward pass on paper. In this form, as in the compiled program, the forward pass occurs once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.programs.program import ELEMENT, Key, Program, effectful, memoized
from gradtape._src.core.programs.structured import arity

Place = tuple[Any, int, str]  # (code object or None, offset of an instruction, name scopes)
UNKNOWN: Place = (None, 0, "")
Live = tuple[int, ...]


class Site:
    """Stands for a code object while a gradient is recorded, so that its ops get this place."""

    __slots__ = ("place",)

    def __init__(self, place: Place) -> None:
        self.place = place


def placed(line: Any, around: Place) -> Place:
    """Return the place of a line within a Program that is called at `around`."""
    code, offset, *scope = line
    if type(code) is Site:
        return code.place
    return around if code is None else (code, offset, (scope and scope[0]) or around[2])


class Flat:
    """A Program under construction: `add` appends an op unless it exists already, `inline` appends another Program's ops."""

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.avals: list[Any] = []
        self.lines: list[Any] = []  # the Places of nodes
        self.parameters: list[Any] = []
        self.values: list[Any] = []  # the parameters' values; None if unknown
        self._known: dict[Any, int] = {}

    def parameter(self, aval: Any, value: Any = None) -> int:
        """Return the reference of a new parameter; equal constants share one."""
        identity = (aval, value.tobytes()) if type(value) is np.ndarray and value.dtype != object else None
        if identity in self._known:
            return self._known[identity]
        self.parameters.append(aval)
        self.values.append(value)
        if identity is not None:
            self._known[identity] = -len(self.parameters)
        return -len(self.parameters)

    def add(self, key: Key, aval: Any, line: Place) -> int:
        """Return the reference of an op, added if it is new."""
        known = self._known.get(key)
        if known is None or effectful(key):
            self.keys.append(key)
            self.avals.append(aval)
            self.lines.append(line)
            known = self._known[key] = len(self.keys) - 1
        return known

    def inline(self, program: Program, inputs: Sequence[int], line: Place = UNKNOWN) -> list[int]:
        """Add the ops of `program`, called at `line` with `inputs` (references); return the references of its outputs."""
        constants = zip(program.parameters[len(inputs) :], program.constants, strict=True)
        leaves = [*inputs, *[self.parameter(a, c) for a, c in constants]]
        values: list[Any] = []
        for index, (op, attrs, *references) in enumerate(program.keys):
            here = placed(program.lines[index], line) if program.lines else line
            given = [values[r] if r >= 0 else leaves[-1 - r] for r in references]
            values.append(self.apply(op, attrs, given, program.avals[index], here))
        return [values[r] if r >= 0 else leaves[-1 - r] for r in program.outputs]

    def apply(self, op: Any, attrs: Any, given: Sequence[Any], aval: Any, line: Place) -> Any:
        """Return the reference of an op's result; for a call, the list of its results' references."""
        if op.is_call:
            return self.inline(attrs[0], given, line)
        if op is ELEMENT and type(given[0]) is list:
            return given[0][attrs[0]]
        return self.add((op.plain, attrs, *given), aval, line)

    def close(self, outputs: Iterable[int]) -> Program:
        """Return the Program with these outputs, and all parameters made so far."""
        return Program(tuple(self.keys), tuple(self.avals), tuple(self.parameters), tuple(outputs), (), tuple(self.lines))


def normal(program: Program, live: Live | None = None) -> Program:
    """Return `program` with calls inlined, duplicates merged and dead code removed; only its outputs at the positions `live`.

    Its parameters are those of `program`, then its constants.
    """
    return _normal(program, tuple(range(len(program.outputs))) if live is None else live)


@memoized
def _normal(program: Program, live: Live) -> Program:
    flat, count = Flat(), arity(program)
    inputs = [flat.parameter(a) for a in program.parameters[:count]]
    outputs = flat.inline(program, inputs)
    return pruned(flat.close([outputs[i] for i in live]), flat.values[count:])


def pruned(program: Program, constants: Sequence[Any] = ()) -> Program:
    """Return a flat Program without dead code, also in loops and branches. Parameters stay."""
    wanted = {r for r in program.outputs if r >= 0}
    elements: dict[int, set[int]] = {}
    kept: list[tuple[int, Key, Any, dict[int, int] | None]] = []
    for index in range(len(program.keys) - 1, -1, -1):
        if index not in wanted:
            continue
        op, attrs, *references = program.keys[index]
        aval, moved = program.avals[index], None
        if op is ELEMENT:
            elements.setdefault(references[0], set()).add(attrs[0])
        elif op.structured and (smaller := op.pruned(attrs, sorted(elements[index]), normal)) is not None:
            attrs, taken, outputs = smaller
            references = [references[i] for i in taken]
            moved = {old: new for new, old in enumerate(outputs)}
            aval = tuple([aval[i] for i in outputs])
        kept.append((index, (op, attrs, *references), aval, moved))
        wanted.update([r for r in references if r >= 0])
    kept.reverse()
    number = {index: new for new, (index, *_) in enumerate(kept)}
    outputs_of = {index: moved for index, _, _, moved in kept if moved is not None}
    keys = []
    for _, (op, attrs, *references), _, _ in kept:
        if op is ELEMENT and references[0] in outputs_of:
            attrs = (outputs_of[references[0]][attrs[0]],)
        keys.append((op, attrs, *[number[r] if r >= 0 else r for r in references]))
    return Program(
        tuple(keys),
        tuple([aval for _, _, aval, _ in kept]),
        program.parameters,
        tuple([number[r] if r >= 0 else r for r in program.outputs]),
        tuple(constants),
        tuple([program.lines[index] for index, *_ in kept]),
    )
