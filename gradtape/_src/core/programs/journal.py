"""The journal: small records of events, for explanations after the fact. Never a frame, a node or a value: code objects only.

An *origin* names a value without holding it: `(serial number of a trace, index in it)`, or `(0, n)` for leaf number n;
`NUMBERS` stands for every Python number. A *moment* is `(serial number of a trace, how many nodes it had then)`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator, Sequence
from threading import get_ident, main_thread
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary, ref

from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.native import twins
from gradtape._src.core.programs.program import NUMBER, lines_of

if TYPE_CHECKING:
    from gradtape._src.core.programs.program import Key, Node, Trace, TraceStructure
    from gradtape._src.core.values.aval import Aval

Line = tuple[CodeType | None, int]  # a code object and the offset of an instruction in it
Origin = tuple[int, int]
Moment = tuple[int, int]
NUMBERS: Origin = (0, 0)

serial = itertools.count(1)
asked = 0  # calls of `gradient` so far


class Ran(NamedTuple):
    """A trace that ran: what it computed, and at which instructions of which code.

    `leaves` and `avals` are the origins and Avals of its leaves, `again` the nodes that stand there a second time, as
    `(index, origin)`.
    """

    serial: int
    thread: int
    keys: tuple[Key, ...]
    codes: list[CodeType | None]
    offsets: list[int]
    leaves: list[Origin]
    avals: tuple[Aval, ...]
    again: Sequence[tuple[int, Origin]]


class Left(NamedTuple):
    """A value that left the library: `how`, where, and when."""

    number: int
    how: str
    origin: Origin
    line: Line
    moment: Moment


class Link(NamedTuple):
    """Values that went into others without an op: `how` is "variable" (a Variable's initial value) or "call" (of a function).

    `assigned` are values that the function gave to variables, each with the line of the assignment.
    """

    how: str
    before: Sequence[Origin]
    after: Sequence[Origin]
    line: Line
    moment: Moment
    thread: int
    assigned: Sequence[tuple[Origin, Line]] = ()


class Taped:
    """The record of a tape: parts of traces as `(serial, start, stop)`, watched values, pauses.

    `watches` holds `(origin, moment, number of the variable or None)`, `consumed` the line of the gradient call that used
    the tape up, `forgotten` the line of its `reset()`; `earlier` is what it recorded before one. `lines` are those of the
    user's that ran while it was open, by file, if somebody had them noted.
    """

    __slots__ = (
        "automatic", "consumed", "earlier", "forgotten", "lines", "number", "paused", "persistent", "segments", "tape", "thread",
        "watches",
    )  # fmt: skip
    segments: Sequence[tuple[int, int, int]]
    watches: Sequence[tuple[Origin, Moment, int | None]]
    paused: Sequence[tuple[Moment, Moment]]

    def __init__(self, tape: ref[Any], persistent: bool, automatic: bool) -> None:
        self.tape = tape  # weakly: what is alive can be run again
        self.number, self.thread = next(serial), get_ident()
        self.persistent, self.automatic = persistent, automatic
        self.segments = self.watches = self.paused = ()
        self.consumed: Line | None = None
        self.forgotten: Line | None = None
        self.earlier: Taped | None = None
        self.lines: dict[str, set[int]] | None = None

    def next(self) -> Taped:
        """Begin the next record of the same tape, after a `reset()`."""
        following = Taped(self.tape, self.persistent, self.automatic)
        following.earlier, self.earlier = self, None
        following.lines = self.lines
        tapes.append(following)
        return following


class Asked:
    """A call of `gradient`, the `number`-th. A source is the number of a variable, or the origin of a tensor.

    `results` says for each source whether there was a gradient; None if the call failed. `refused`: the tape was used up.
    From `start` to `stop` stand the ops that the call itself recorded.
    """

    __slots__ = ("line", "number", "refused", "results", "sources", "start", "stop", "tape", "targets")

    def __init__(self, tape: Taped, targets: list[Origin], sources: list[int | Origin], trace: Trace) -> None:
        global asked
        asked += 1
        self.number, self.line = asked, user_line(4, True)
        self.tape, self.targets, self.sources = tape, targets, sources
        self.start = self.stop = trace.serial, len(trace.nodes)
        self.results: list[bool] | None = None
        self.refused = False

    def answered(self, trace: Trace, results: list[bool]) -> None:
        """Note the results of a gradient call."""
        self.stop = trace.serial, len(trace.nodes)
        self.results = results


# What is remembered: the last of each.
births: deque[tuple[Origin, Line]] = deque(maxlen=4096)  # of leaves
ring: deque[Ran] = deque(maxlen=64)
exits: deque[Left] = deque(maxlen=512)
links: deque[Link] = deque(maxlen=512)
tapes: deque[Taped] = deque(maxlen=128)
assigned: deque[tuple[int, int, Origin]] = deque(maxlen=4096)  # (number of a variable, serial of a trace, what it held)
calls: deque[Asked] = deque(maxlen=128)
variables: WeakValueDictionary[int, Any] = WeakValueDictionary()  # number → Variable, once it has a value


def note_tape(taped: Taped) -> None:
    """Keep what a tape that was opened records."""
    tapes.append(taped)


def note_call(call: Asked) -> None:
    """Keep a call of `gradient`."""
    calls.append(call)


def count_call() -> None:
    """Count a call of `gradient` inside of a function that is called, which is not kept again."""
    global asked
    asked += 1


def noted_in(trace: Trace) -> tuple[list[Asked], list[Taped]]:
    """Return the gradient calls and the tapes that were noted in a trace."""
    asked = [call for call in list(calls) if call.start[0] == trace.serial]
    return asked, [tape for tape in list(tapes) if any(serial == trace.serial for serial, _, _ in tape.segments)]


@contextlib.contextmanager
def unnoted(serial: int) -> Iterator[None]:
    """Forget, at the end of the context, the traces of this thread that ran in it: they come after the one with this `serial`."""
    before = list(ring)
    try:
        yield
    finally:
        others = [r for r in list(ring) if r.serial > serial and r.thread != get_ident()]
        ring.clear()
        ring.extend([*before, *others])


def ran(trace: Trace, structure: TraceStructure) -> None:
    """Keep what a trace computed that has run. In the next step of a loop the lines are the same."""
    codes, offsets = structure.lines = lines_of(trace.nodes, structure.lines)
    leaves = origins_of(trace.leaves)
    again = [(node.index, origin_of(original)) for original, node in trace.recomputed] if trace.recomputed else ()
    # made as the tuple that it is: this runs once in each step of a training loop
    ring.append(tuple.__new__(Ran, (trace.serial, get_ident(), structure.keys, codes, offsets, leaves, structure.avals, again)))


def origin_of(node: Node) -> Origin:
    """Return the origin of a node, the name of its value, which stays the same after a run."""
    origin = node.origin
    if origin is None:
        if node.trace is not None:
            return node.trace.serial, node.index
        origin = node.origin = NUMBERS if node.index == NUMBER else (0, next(serial))
    return origin


@twins.in_c
def origins_of(nodes: list[Node]) -> list[Origin]:
    """Return the origins of nodes."""
    return [n.origin or origin_of(n) for n in nodes]


def made(node: Node) -> None:
    """Note at which line of the user's a leaf was made."""
    node.code, node.offset = line = user_line()
    node.origin = 0, next(serial)
    births.append((node.origin, line))


def linked(how: str, before: Node, after: Node, trace: Trace) -> None:
    """Note that a value went into another without an op of the thread's trace."""
    links.append(Link(how, (origin_of(before),), (origin_of(after),), user_line(), moment(trace), get_ident()))


def called(arguments: Sequence[Node], body: Any, results: Sequence[Node], trace: Trace) -> None:
    """Note a call of a function that ran at once, where nothing recorded it; its variables hold what they did before."""
    before = [n.origin or origin_of(n) for n in arguments]
    before += [n.origin or origin_of(n) for variable in body.variables for n in (variable._tensor.node,)]
    if body.captures:
        before += [n.origin or origin_of(n) for n in body.captures]
    after = []
    for node in results:  # leaves, which were made just now
        node.origin = origin = (0, next(serial))
        after.append(origin)
    assigned: Sequence[tuple[Origin, Line]] = ()
    if body.assignments:
        count = len(after) - len(body.assignments)
        assigned = tuple(zip(after[count:], body.assignments, strict=True))
        del after[count:]
    # made as the tuple that it is: this runs in each call of a function, and five frames of the library's lie around it
    links.append(
        tuple.__new__(Link, ("call", before, after, user_line(5), (trace.serial, len(trace.nodes)), get_ident(), assigned))
    )


def moment(trace: Trace) -> Moment:
    """Return the present moment in the thread's trace."""
    return trace.serial, len(trace.nodes)


@twins.in_c
def left(how: str, node: Node, trace: Trace) -> None:
    """Note that a value left the library."""
    exits.append(tuple.__new__(Left, (next(serial), how, origin_of(node), user_line(2), moment(trace))))


def left_at(how: str, node: Node, moment: Moment) -> None:
    """Note that a value left the library at a moment, at the present line."""
    exits.append(Left(next(serial), how, origin_of(node), user_line(2), moment))


def assigned_again(entries: Sequence[tuple[int, int, Origin]]) -> None:
    """Note assignments, as entries of `assigned`."""
    assigned.extend(entries)


class _Others(dict[str, bool]):
    """File name → whether it is the library's, Python's own, an installed package's or a command's: no line of the user's."""

    def __missing__(self, filename: str) -> bool:
        path = filename if filename.startswith("<") else os.path.abspath(filename)
        found = internal[filename] or path.startswith((*_INSTALLED, "<frozen"))
        self[filename] = found
        return found


_INSTALLED = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")})
others = _Others()


_main = main_thread().ident
_latest: Line | None = None  # of the main thread


COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>"}  # code objects of their own before Python 3.12


@twins.in_c
def user_line(depth: int = 1, statement: bool = False) -> Line:
    """Return the innermost line of the user's own code that is being run; `depth` frames are known to be none of theirs.

    With `statement` it is in the function whose statement that is, not in a comprehension there.

    A thread of a package's works for what the main thread did last, and gets the line that was noted there: frames of
    another thread end while they are walked, which can end the process.
    """
    global _latest
    first = sys._getframe(depth)
    frame = _outside(others, first)
    here = get_ident() == _main
    if frame is None and not here and _latest is not None:
        return _latest
    if frame is None:  # nothing but installed packages: the innermost that is not this library
        frame = _outside(internal, first) or first
    while statement and frame.f_code.co_name in COMPREHENSIONS and frame.f_back is not None:
        frame = frame.f_back
    line = frame.f_code, frame.f_lasti
    if here:
        _latest = line
    return line


def file_and_number(line: Line) -> tuple[str | None, int | None]:
    """Return the file of a line, and its number; None where there is no code."""
    code, offset = line
    if code is None:
        return None, None
    numbers = [number for start, end, number in code.co_lines() if start <= offset < end and number is not None]
    return code.co_filename, numbers[0] if numbers else code.co_firstlineno


def _outside(files: dict[str, bool], frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame whose file is none of these."""
    while frame is not None and files[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def loop_anchor(lines: list[Line]) -> Line | None:
    """Return the source location at which to cut the record of a loop, or None if `lines` shows no period.

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
