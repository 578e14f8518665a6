"""Code that was traced with symbols for extents that are not known: it is the same for others, with numbers in their place."""

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
    """Return what the symbols of some Avals are in others; None if those have another shape where no symbol stands."""
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
    """Return a traced function for such arguments: nothing is traced or inferred for them.

    None if they have it go another way.
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
    """Traces of one piece of code with symbols for open extents, one for each way that it goes. `traced` is what each gives."""

    def __init__(self, traced: Callable[[T], Traced]) -> None:
        self.made: list[T] = []
        self._traced = traced

    def keep(self, made: T) -> bool:
        """Keep a trace, if there is an instance of it for other extents; return whether there is."""
        kept = self._traced(made).way is not None and type(self._traced(made).program) is Program
        if kept:
            self.made.append(made)
        return kept

    def at(self, avals: Sequence[Aval]) -> tuple[T, Traced] | None:
        """Return the trace on the way that arguments of these Avals have the code go, and its instance for them; None without."""
        for made in self.made:
            if (found := instance(self._traced(made), avals)) is not None:
                return made, found
        return None

    def found(self, avals: Sequence[Aval], trace: Callable[[Guide], T]) -> tuple[T, Traced] | None:
        """Return what `at` gives. If the code was traced with symbols, and on other ways only, `trace` it by a guide."""
        found = self.at(avals)
        if found is None and self.made:
            first = self._traced(self.made[0]).way
            found = self.at(avals) if self.keep(trace(Guide({}, first is not None and first.shows))) else None
        return found
