"""Instances of Programs: numbers replace the symbols of unknown extents."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from gradtape._src.core.engine import execution
from gradtape._src.core.engine.tracing import FORWARD
from gradtape._src.core.programs.program import Program, memoized
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


def _has_symbols(value: Any) -> bool:
    """Return whether `substituted` would replace something."""
    kind = type(value)
    if kind is Aval:
        return bool(value.open)
    if isinstance(value, Program):
        return any(map(_has_symbols, (value.keys, value.avals, value.parameters)))
    if kind is TensorShape:
        value = value._dims or ()
    return any(map(_has_symbols, value)) if isinstance(value, tuple) else kind is Dim


class Symbols:
    """Keys, and groups of Avals, of which some have symbols; it looks once for these places, to put numbers there often."""

    def __init__(self, keys: Sequence[Any], *groups: Sequence[Any]) -> None:
        self._keys, self._groups = keys, groups
        self._attributes = [(at, key[1]) for at, key in enumerate(keys) if _has_symbols(key[1])]
        self._avals = [[(at, one) for at, one in enumerate(group) if _has_symbols(one)] for group in groups]

    @property
    def any(self) -> bool:
        """Whether there is a symbol."""
        return bool(self._attributes) or any(self._avals)

    def at(self, extents: Extents) -> tuple[tuple[Any, ...], ...]:
        """Return the keys and the groups of Avals for these extents."""
        keys, known = [*self._keys], dict[Any, Any]()
        for at, attributes in self._attributes:
            keys[at] = (keys[at][0], substituted(attributes, extents), *keys[at][2:])
        made = [tuple(keys)]
        for group, places in zip(self._groups, self._avals, strict=True):
            avals = [*group]
            for at, one in places:
                if (found := known.get(one)) is None:
                    found = known[one] = substituted(one, extents)
                avals[at] = found
            made.append(tuple(avals))
        return tuple(made)


@memoized
def _symbols_of(program: Program) -> Symbols:
    return Symbols(program.keys, program.avals, program.parameters)


def instance(program: Program, extents: Extents) -> Program:
    """Return a Program for these extents: the same ops, with numbers in their attributes, Avals and Programs."""
    point = "at", *extents.values()
    known: Program | None = program.derived.get(point)
    if known is None:
        symbols, known = _symbols_of(program), program
        if symbols.any:
            keys, avals, parameters = symbols.at(extents)
            rest = program.outputs, program.constants, program.lines, program.precision
            known = execution.intern(Program(keys, avals, parameters, *rest, program))
            if FORWARD in program.derived:
                known.derived[FORWARD] = substituted(program.derived[FORWARD], extents)
        program.derived[point] = known
    return known


def instance_of_transcript(script: Transcript, extents: Extents) -> Transcript:
    """Return the Transcript of a function for these extents."""
    made = copy.copy(script)
    made.symbols = script.symbols = script.symbols or Symbols(script.keys, script.avals, script.leaf_avals)
    made.keys, made.avals, made.leaf_avals = script.symbols.at(extents)
    made.bytes, made.runs = substituted(script.bytes, extents), 0
    made.inside = [inner._replace(transcript=instance_of_transcript(inner.transcript, extents)) for inner in script.inside]
    return made
