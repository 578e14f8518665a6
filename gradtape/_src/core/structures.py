"""The structure of a trace: what it computes, however often and with whichever values. There is one object for each.

So a structure is compared by identity, and hashed as such. To hash the keys of a trace anew in each step would take as long as
to record a part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape._src.core.native import twins
from gradtape._src.core.program import Cache, avals_of, keys_of

if TYPE_CHECKING:
    from gradtape._src.core.program import Key, Lines, Trace


class Structure:
    """The keys of nodes, and the Avals of leaves: of a whole trace, or of its beginning.

    `lines` are the user's lines at which it was recorded last: code objects, and instruction offsets in them. `variants` are
    the ways to run it, see `slices`.
    """

    __slots__ = ("avals", "keys", "lines", "variants")
    keys: tuple[Key, ...]
    avals: tuple[Any, ...]
    lines: Lines | None
    variants: list[Any]

    def __init__(self, keys: tuple[Key, ...], avals: tuple[Any, ...]) -> None:
        self.keys, self.avals, self.lines, self.variants = keys, avals, None, []


_structures = Cache(2048)  # (keys, Avals) → Structure
guesses = Cache(4096)  # where a trace begins, and how long it is → what it was the last time


@twins.in_c
def structure_of(trace: Trace, nodes: int, leaves: int) -> Structure:
    """Return the Structure of the first `nodes` nodes and `leaves` leaves of a trace.

    A loop records the same at the same lines, so what the last such trace was is compared first.
    """
    first = trace.nodes[0] if nodes else None
    where = (0, 0, 0, leaves) if first is None else (id(first.code), first.offset, nodes, leaves)
    keys, avals = keys_of(trace.nodes[:nodes]), avals_of(trace.leaves[:leaves])
    found: Structure | None = guesses.get(where)
    if found is None or found.keys != keys or found.avals != avals:
        found = _structures.find((keys, avals)) or _structures.keep((keys, avals), Structure(keys, avals))
        guesses.keep(where, found)
    return found
