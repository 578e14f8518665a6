"""The selection of lines of a long tape for the page, so that a browser opens it at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MOST_GROUPS = 1000  # lines of a call
MOST_IN_GROUP = 100  # ops of a line
FAULTY = 100  # lines of breaks that are always shown


def chosen(groups: Sequence[tuple[int, bool]], room: int) -> Iterator[tuple[int, int, int]]:
    """Choose lines of a tape, each given as `(number of ops, whether it is at fault)`, with `room` ops in total.

    Lines at fault come first, then the first lines, then the last. Yields `(index, ops, gap)` in the order of the tape: the
    number of ops to show, and the number of lines left out before it.
    """
    faulty = [index for index, (_, fault) in enumerate(groups) if fault][:FAULTY]
    first = range(MOST_GROUPS * 3 // 4)
    last = range(len(groups) - MOST_GROUPS // 4, len(groups))
    taken: dict[int, int] = {}
    for index in [*faulty, *first, *last]:
        if 0 <= index < len(groups) and index not in taken and room > 0:
            taken[index] = min(groups[index][0], MOST_IN_GROUP, room)
            room -= taken[index]
    before = -1
    for index in sorted(taken):
        yield index, taken[index], index - before - 1
        before = index
