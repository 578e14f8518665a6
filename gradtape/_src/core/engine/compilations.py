"""Sentences of the log on compilations: on each if that is asked for, on long ones, and on a line that makes many programs."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from gradtape._src.core.base import locks
from gradtape._src.core.platform.places import place
from gradtape._src.core.programs.journal import file_and_number
from gradtape._src.core.programs.program import Cache, Executable, Line, Program
from gradtape._src.core.values.aval import bytes_of

logger = logging.getLogger("gradtape")
clock = time.perf_counter
LONG = 2.0  # seconds from which on a compilation is told of in any case
MANY = 100  # programs of one line after which the log warns, once
SHOWN = 4  # shapes of arguments that are named
_of_lines = Cache(
    4096, of="lines"
)  # (code object, offset) → how many programs were compiled for that line, and the last one's shapes
_lock = locks.Lock()
each = False  # whether the log tells of each


def tell_each(wanted: bool) -> None:
    """Begin or end to tell of each compilation."""
    global each
    each = wanted


def note(owner: Executable, seconds: float, op: str = "") -> None:
    """Note that a Program was compiled, or an op by itself, of the type `op`."""
    line = _line_of(owner)
    shapes = _shapes(owner.parameters) if isinstance(owner, Program) else ""
    number, before = 0, ""
    if line is not None and owner.builds == 1:
        with _lock:
            number, before = _of_lines.get(line, (0, ""))
            number += 1
            _of_lines.keep(line, (number, shapes))
    if each or seconds > LONG:
        logger.warning("%s", _sentence(owner, line, shapes, seconds, number, op))
    if number == MANY and line is not None:
        logger.warning(
            "%s has made %d programs, each of which was compiled. The last one takes %s, the one before %s. If shapes differ "
            "from step to step, pad or bucket them to a few. If a Python number or function does, give a tensor, or keep "
            "one function. `tf.config.log_compiles()` tells of each; see docs/performance.md.",
            _spoken(line),
            MANY,
            shapes,
            before,
        )


def _line_of(owner: Executable) -> Line | None:
    """Return the user's line of a Program: the last one that is known, which asked for its last value."""
    lines = owner.lines if isinstance(owner, Program) else ()
    return next((line for line in reversed(lines) if line[0] is not None), None)


def _sentence(owner: Executable, line: Line | None, shapes: str, seconds: float, number: int, op: str) -> str:
    if not isinstance(owner, Program):
        return f"Compiled the op {op} by itself in {seconds:.2f} s."
    where = "" if line is None else f" of {_spoken(line)}"
    which = f", the line's program number {number}" if number else ""
    seen = f"after {owner.runs - 1} runs op by op" if owner.builds == 1 else f"as build number {owner.builds}"
    return f"Compiled a program of {owner.size} ops{where}{which}, in {seconds:.2f} s, {seen}. It takes {shapes}."


def _spoken(line: Line) -> str:
    """Return a line in words, with its function."""
    code, _ = line
    return f"{place(*file_and_number(line), short=True)} (in {code.co_name})"


def _shapes(avals: Sequence[Any]) -> str:
    """Return the shapes and dtypes of what a Program takes, the largest first; what has several parts is a tuple."""
    named = [repr(aval) for aval in sorted(avals, key=lambda aval: -bytes_of((aval,)))]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return ", ".join(named[:SHOWN]) + more if named else "nothing"
