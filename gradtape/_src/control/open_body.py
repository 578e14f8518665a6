"""A Body that was traced with symbols for extents that are not known: the same for others, with numbers in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradtape._src.control.scope import Body
from gradtape._src.core.engine.instance import instance_of_transcript, substituted
from gradtape._src.core.programs.program import Program
from gradtape._src.core.values.aval import Aval
from gradtape._src.core.values.dim import Atom, Dim, as_number
from gradtape._src.core.values.ways import Path


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


def at(body: Body, extents: Mapping[Atom, int]) -> Body:
    """Return the Body for these extents: nothing is traced or inferred for it."""
    made = body.copied()
    made.program = substituted(body.program, extents)
    made.avals = [made.program.aval_of(r) for r in made.program.outputs]
    made.draws = [stream.shared(as_number(stream.blocks, extents)) for stream in body.draws]
    if body.transcript is not None:
        made.transcript = instance_of_transcript(body.transcript, extents)
    return made


class OpenBody(NamedTuple):
    """A Body, traced on one way with symbols in the Avals of some of its parameters."""

    way: Path
    avals: Sequence[Aval]
    body: Body

    def at(self, avals: Sequence[Aval]) -> Body | None:
        """Return the Body for such parameters; None if they have it go another way, or it holds more than ops."""
        if type(self.body.program) is not Program:
            return None
        extents = extents_in(self.avals, avals)
        return at(self.body, extents) if extents is not None and self.way.fits(extents) else None
