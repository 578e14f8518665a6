"""Log messages about compilations: about each on request, about slow ones, and about a line that makes many programs."""

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
LONG = 2.0  # seconds above which a compilation is always logged
MANY = 100  # programs of one line at which a warning is logged, once
SHOWN = 4  # argument shapes that a message lists
_of_lines = Cache(4096, of="lines")  # (code object, offset) → (number of programs of the line, shapes of the last one)
_lock = locks.Lock()
each = False  # whether each compilation is logged


def tell_each(wanted: bool) -> None:
    """Start or stop logging each compilation."""
    global each
    each = wanted


def note(owner: Executable, seconds: float, op: str = "") -> None:
    """Note the compilation of a Program, or of a single op of type `op`; log it if it was slow or logging is on."""
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
    """Return the shapes and dtypes of a Program's parameters, the largest first."""
    named = [repr(aval) for aval in sorted(avals, key=lambda aval: -bytes_of((aval,)))]
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return ", ".join(named[:SHOWN]) + more if named else "nothing"
