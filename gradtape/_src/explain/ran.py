"""The lines that ran under a tape, if the interpreter was asked to note them, and the places of ops."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from threading import get_ident
from traceback import walk_stack
from types import CodeType, FrameType
from typing import Any

from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line, Taped
from gradtape._src.explain import source as text

MOST = 16  # tapes opened at one line whose lines are noted
MONITORING: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
Lines = dict[str, set[int]]  # by file
Place = tuple[int, int]  # a line, and the column in it


class Interpreter:
    """Notes the lines of the user's code that this thread runs under a tape, for the first few tapes of each line.

    The lines are stored in the tape's record in the journal. Nothing is noted while a debugger traces.
    """

    def __init__(self) -> None:
        self._open: dict[Any, Lines] = {}  # weak reference to a tape → its lines
        self._counts: dict[Line, int] = {}
        self._thread = get_ident()

    def taped(self, taped: Taped, opens: bool) -> None:
        """Start noting lines when a tape opens, and stop when it closes."""
        if not opens:
            if self._open.pop(taped.tape, None) is not None and not self._open:
                self._end()
        elif get_ident() == self._thread:
            line = journal.user_line()
            self._counts[line] = count = self._counts.get(line, 0) + 1
            if count <= MOST and (self._open or self._begin()):
                self._open[taped.tape] = taped.lines = {} if taped.lines is None else taped.lines
                self._arm()

    def close(self) -> None:
        """Stop noting lines for all tapes."""
        if self._open:
            self._open.clear()
            self._end()

    def _note(self, file: str, line: int) -> None:
        for lines in self._open.values():
            lines.setdefault(file, set()).add(line)

    def _begin(self) -> bool:
        return sys.gettrace() is None

    def _arm(self) -> None:
        for frame, _ in walk_stack(sys._getframe(2)):
            if not journal.others[frame.f_code.co_filename]:
                frame.f_trace = self._entered
        sys.settrace(self._entered)

    def _end(self) -> None:
        sys.settrace(None)
        for frame, _ in walk_stack(sys._getframe(2)):
            frame.f_trace = None

    def _entered(self, frame: FrameType, event: str, given: Any) -> Any:
        """Note a line. Python also calls this for each new frame, and traces the frame with the returned function."""
        file = frame.f_code.co_filename
        if journal.others[file]:
            return None
        if event == "line" and self._open:
            self._note(file, frame.f_lineno)
        return self._entered


class Monitoring(Interpreter):
    """The Interpreter by `sys.monitoring`, which reports each place once."""

    def _begin(self) -> bool:
        tool, events = MONITORING.PROFILER_ID, MONITORING.events
        if MONITORING.get_tool(tool) is not None:
            return False
        MONITORING.use_tool_id(tool, "gradtape why")
        MONITORING.register_callback(tool, events.LINE, self._line)
        MONITORING.set_events(tool, events.LINE)
        return True

    def _arm(self) -> None:
        MONITORING.restart_events()

    def _end(self) -> None:
        tool = MONITORING.PROFILER_ID
        MONITORING.set_events(tool, 0)
        MONITORING.free_tool_id(tool)

    def _line(self, code: CodeType, line: int) -> Any:
        if get_ident() != self._thread:
            return None
        if self._open and not journal.others[code.co_filename]:
            self._note(code.co_filename, line)
        return MONITORING.DISABLE


def interpreter() -> Interpreter:
    """Return the object that notes lines with this version of Python."""
    return Interpreter() if MONITORING is None else Monitoring()


class Ran:
    """The user's code that is known to have run: the `lines` of ops, and those `noted` by the interpreter, if any."""

    def __init__(self, lines: Iterable[Line], noted: Lines | None) -> None:
        self.noted = noted
        self.places: dict[str, set[Place]] = {}
        for line in lines:
            at, _, column, _ = text.position(line)
            if line[0] is not None and at is not None:
                self.places.setdefault(line[0].co_filename, set()).add((at, column or 0))
        self.files = dict.fromkeys([*self.places, *(noted or ())])  # in the order of their first ops

    def saw(self, file: str, nodes: Sequence[Any], below: int = 0) -> bool:
        """Return whether part of these nodes is known to have run. Noted lines count only below the condition's, `below`."""
        first = nodes[0].lineno, nodes[0].col_offset
        last = nodes[-1].end_lineno or first[0], nodes[-1].end_col_offset or 0
        noted = self.noted.get(file, ()) if self.noted is not None else ()
        return any(first <= at <= last for at in self.places.get(file, ())) or any(
            max(first[0], below + 1) <= line <= last[0] for line in noted
        )
