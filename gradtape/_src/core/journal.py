"""What happened, in small records: for explanations after the fact. Never a frame, a node or a value: code objects only."""

from __future__ import annotations

import itertools
from collections import deque
from types import CodeType
from typing import Any

Line = tuple[CodeType | None, int]  # a code object and the offset of an instruction in it

serial = itertools.count(1)
# the last traces that ran: (serial number, keys, code objects, instruction offsets)
ring: deque[tuple[Any, ...]] = deque(maxlen=64)
# (serial number, what, details…): tapes opened and closed, gradients asked, values that left
events: deque[tuple[Any, ...]] = deque(maxlen=1024)


def ran(keys: tuple[Any, ...], codes: list[CodeType | None], offsets: list[int]) -> None:
    """Keep what a trace computed that has run, and at which instructions of which code."""
    ring.append((next(serial), keys, codes, offsets))


def note(what: str, *details: Any) -> None:
    """Note an event."""
    events.append((next(serial), what, *details))


def loop_anchor(lines: list[Line]) -> Line | None:
    """The source location at which to cut the record of a loop, or None if `lines` shows no period.

    The period is that of the record's tail (the failure function of Knuth, Morris and Pratt 1977, run backwards from
    the end); the anchor is the rarest location within one period.
    """
    tail = lines[::-1]
    failure = [0] * len(tail)
    length = 0
    for i in range(1, len(tail)):
        while length and tail[i] != tail[length]:
            length = failure[length - 1]
        if tail[i] == tail[length]:
            length += 1
        failure[i] = length
        period = i + 1 - length
        if length >= period and i + 1 >= 2 * period and i + 1 >= len(tail) // 2:
            counts: dict[Line, int] = {}
            for location in tail[:period]:
                counts[location] = counts.get(location, 0) + 1
            return min(reversed(tail[:period]), key=counts.__getitem__)
    return None
