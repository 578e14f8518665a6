"""The lines of a long tape that the page shows: it has to open in a browser at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MOST_GROUPS = 1000  # lines of a call
MOST_IN_GROUP = 100  # ops of a line
FAULTY = 100  # lines of a break that are shown wherever they stand


def chosen(groups: Sequence[tuple[int, bool]], room: int) -> Iterator[tuple[int, int, int]]:
    """Choose among the lines of a tape, each as `(number of ops, whether it is at fault)`, where `room` ops find room.

    Lines at fault come first, then the first ones, then the last ones. Yields `(index, ops, gap)` in the order of the tape: how
    many of its ops are shown, and how many lines before it are not.
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
