"""Instances of traces with symbols for unknown extents, which have numbers in place of the symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from gradtape._src.control.scope import Traced
from gradtape._src.core.engine.instance import instance_of_transcript, substituted
from gradtape._src.core.programs.program import Program
from gradtape._src.core.values.aval import Aval
from gradtape._src.core.values.dim import Atom, Dim, as_number
from gradtape._src.core.values.ways import Guide

T = TypeVar("T")


def extents_in(symbols: Sequence[Aval], numbers: Sequence[Aval]) -> dict[Atom, int] | None:
    """Return the numbers for the symbols of some Avals; None if the Avals differ in anything but symbols."""
    found: dict[Atom, int] = {}
    for one, other in zip(symbols, numbers, strict=True):
        if len(one.shape) != len(other.shape) or one.dtype != other.dtype:
            return None
        for extent, number in zip(one.shape, other.shape, strict=True):
            if type(extent) is Dim and (symbol := extent.symbol) is not None:
                found[symbol] = number
            elif extent != number:
                return None
    return found


def instance(traced: Traced, avals: Sequence[Aval]) -> Traced | None:
    """Return the instance of a traced function for arguments of these Avals, without tracing or shape inference.

    None if these take another path through the function.
    """
    extents = extents_in(traced.program.parameters[: len(avals)], avals)
    if extents is None or traced.way is None or not traced.way.fits(extents):
        return None
    script = traced.transcript
    return replace(
        traced,
        takes=substituted(tuple(traced.takes), extents),
        program=substituted(traced.program, extents),
        draws=[stream.shared(as_number(stream.blocks, extents)) for stream in traced.draws],
        transcript=None if script is None else instance_of_transcript(script, extents),
    )


class Ways(Generic[T]):
    """Traces of the same code with symbols for unknown extents, one for each path; `traced` returns the Traced of each."""

    def __init__(self, traced: Callable[[T], Traced]) -> None:
        self.made: list[T] = []
        self._traced = traced

    def keep(self, made: T) -> bool:
        """Keep a trace if it can be instantiated for other extents; return whether it can."""
        kept = self._traced(made).way is not None and type(self._traced(made).program) is Program
        if kept:
            self.made.append(made)
        return kept

    def at(self, avals: Sequence[Aval]) -> tuple[T, Traced] | None:
        """Return the trace with the path for arguments of these Avals, and its instance for them; None without such a path."""
        for made in self.made:
            if (found := instance(self._traced(made), avals)) is not None:
                return made, found
        return None

    def found(self, avals: Sequence[Aval], trace: Callable[[Guide], T]) -> tuple[T, Traced] | None:
        """Return `at(avals)`. If only traces of other paths exist, call `trace` with a guide for this one."""
        found = self.at(avals)
        if found is None and self.made:
            first = self._traced(self.made[0]).way
            found = self.at(avals) if self.keep(trace(Guide({}, first is not None and first.shows))) else None
        return found
