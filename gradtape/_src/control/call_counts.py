"""Counts of the calls and traces of functions, by their code: for the warning of retracing."""

from __future__ import annotations

import inspect
import weakref
from types import CodeType
from typing import Any

from gradtape._src.core.errors import internal

MANY_TRACES = 5  # so many traces in so many calls are worth a warning
MANY_WARNINGS = 2


class Calls:
    """The number of calls of one code from outside of functions, and of traces for these."""

    def __init__(self) -> None:
        self.since = self.counted = self._traces = self._warnings = 0

    def traced_too_often(self) -> bool:
        """Note a trace; whether so many of the last calls were traced that a warning is due. `counted` are those calls."""
        self._traces += 1
        if self._traces % MANY_TRACES:
            return False
        self.counted, self.since = max(self.since, MANY_TRACES), 0
        due = self.counted < 2 * MANY_TRACES and self._warnings < MANY_WARNINGS
        self._warnings += due
        return due


_calls: weakref.WeakKeyDictionary[CodeType, Calls] = weakref.WeakKeyDictionary()


def calls_of(function: Any) -> Calls:
    """Return the Calls of a Python function, shared by all functions of its code. A library's does not."""
    code = getattr(getattr(inspect.unwrap(function), "__func__", function), "__code__", None)
    if code is None or internal[code.co_filename]:
        return Calls()
    return _calls.setdefault(code, Calls())
