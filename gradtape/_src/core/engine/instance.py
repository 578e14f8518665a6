"""Instances of Programs: numbers replace the symbols of unknown extents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradtape._src.core.engine import execution
from gradtape._src.core.engine.tracing import FORWARD
from gradtape._src.core.programs.program import Program
from gradtape._src.core.programs.transcript import Transcript
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.dim import Atom, Dim, as_number
from gradtape._src.core.values.shape import TensorShape

Extents = Mapping[Atom, int]


def substituted(value: Any, extents: Extents) -> Any:
    """Replace the symbols in a Dim, Aval, Program, shape or tuple by numbers; return any other value as it is."""
    kind = type(value)
    if kind is Dim:
        return as_number(value, extents)
    if kind is Aval:
        return aval(substituted(value.shape, extents), value.dtype) if value.open else value
    if isinstance(value, Program):
        return instance(value, extents)
    if kind is TensorShape:
        dims = value._dims
        return value if dims is None or not any(type(d) is Dim for d in dims) else TensorShape(substituted(dims, extents))
    if isinstance(value, tuple):
        items = [substituted(item, extents) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return kind(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def instance(program: Program, extents: Extents) -> Program:
    """Return a Program for these extents: the same ops, with numbers in their attributes, Avals and Programs."""
    point = "at", *extents.values()
    known: Program | None = program.derived.get(point)
    if known is None:
        had = program.keys, program.avals, program.parameters
        have = substituted(had, extents)
        known = program
        if have is not had:
            keys, avals, parameters = have
            made = Program(keys, avals, parameters, program.outputs, program.constants, program.lines, program.precision)
            known = execution.intern(made)
            if FORWARD in program.derived:
                known.derived[FORWARD] = substituted(program.derived[FORWARD], extents)
        program.derived[point] = known
    return known


def instance_of_transcript(script: Transcript, extents: Extents) -> Transcript:
    """Return the Transcript of a function for these extents."""
    made = Transcript()
    for slot in Transcript.__slots__:
        setattr(made, slot, getattr(script, slot))
    made.keys, made.avals = substituted(script.keys, extents), substituted(script.avals, extents)
    made.leaf_avals, made.bytes, made.runs = substituted(script.leaf_avals, extents), substituted(script.bytes, extents), 0
    made.inside = [inner._replace(transcript=instance_of_transcript(inner.transcript, extents)) for inner in script.inside]
    return made
