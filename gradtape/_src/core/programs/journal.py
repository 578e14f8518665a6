"""The journal: small records of events, for explanations after the fact. It holds code objects, but no frames, nodes or values.

An *origin* names a value without holding it: `(serial number of a trace, index in it)`, or `(0, n)` for leaf number n;
`NUMBERS` stands for every Python number. A *moment* is `(serial number of a trace, number of its nodes at that time)`.
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
    """A trace that ran: the keys of its nodes, with their code objects and instruction offsets.

    `leaves` and `avals` are the origins and Avals of its leaves. `again` has the nodes that were recorded a second time, as
    `(index, origin of the first)`.
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
    """The exit of a value from the library: `how`, at which line, and at which moment."""

    number: int
    how: str
    origin: Origin
    line: Line
    moment: Moment


class Link(NamedTuple):
    """A dependence of values without a recorded op: `how` is "variable" (an initial value) or "call" (of a function).

    `assigned` are values that the function assigned to variables, each with the line of the assignment.
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
    the tape up. `forgotten` is the line of its `reset()`, `earlier` the record before that. `lines` are the user's lines that ran
    while it was open, by file, or None if they were not traced.
    """

    __slots__ = (
        "automatic", "consumed", "earlier", "forgotten", "lines", "number", "paused", "persistent", "segments", "tape", "thread",
        "watches",
    )  # fmt: skip
    segments: Sequence[tuple[int, int, int]]
    watches: Sequence[tuple[Origin, Moment, int | None]]
    paused: Sequence[tuple[Moment, Moment]]

    def __init__(self, tape: ref[Any], persistent: bool, automatic: bool) -> None:
        self.tape = tape  # weak: the tape can be asked again only while it is alive
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
    The moments `start` and `stop` enclose the ops that the call itself recorded.
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


# The latest events of each kind.
births: deque[tuple[Origin, Line]] = deque(maxlen=4096)  # of leaves
ring: deque[Ran] = deque(maxlen=64)
exits: deque[Left] = deque(maxlen=512)
links: deque[Link] = deque(maxlen=512)
tapes: deque[Taped] = deque(maxlen=128)
assigned: deque[tuple[int, int, Origin]] = deque(maxlen=4096)  # (number of a variable, serial of a trace, origin of its value)
calls: deque[Asked] = deque(maxlen=128)
variables: WeakValueDictionary[int, Any] = WeakValueDictionary()  # number → Variable, once it has a value


def note_tape(taped: Taped) -> None:
    """Keep the record of a tape that was opened."""
    tapes.append(taped)


def note_call(call: Asked) -> None:
    """Keep a call of `gradient`."""
    calls.append(call)


def count_call() -> None:
    """Count a call of `gradient` in a called function; its transcript keeps the call itself."""
    global asked
    asked += 1


def noted_in(trace: Trace) -> tuple[list[Asked], list[Taped]]:
    """Return the gradient calls and the tapes that were noted in a trace."""
    asked = [call for call in list(calls) if call.start[0] == trace.serial]
    return asked, [tape for tape in list(tapes) if any(serial == trace.serial for serial, _, _ in tape.segments)]


@contextlib.contextmanager
def unnoted(serial: int) -> Iterator[None]:
    """Forget the traces that this thread runs in the context: those with a serial number above `serial`."""
    before = list(ring)
    try:
        yield
    finally:
        others = [r for r in list(ring) if r.serial > serial and r.thread != get_ident()]
        ring.clear()
        ring.extend([*before, *others])


def ran(trace: Trace, structure: TraceStructure) -> None:
    """Keep the record of a trace that has run. Equal lines of an earlier step of a loop are shared."""
    codes, offsets = structure.lines = lines_of(trace.nodes, structure.lines)
    leaves = [n.origin or origin_of(n) for n in trace.leaves]
    again = [(node.index, origin_of(original)) for original, node in trace.recomputed] if trace.recomputed else ()
    # tuple.__new__ is faster than Ran(…): this runs once in each training step
    ring.append(tuple.__new__(Ran, (trace.serial, get_ident(), structure.keys, codes, offsets, leaves, structure.avals, again)))


def origin_of(node: Node) -> Origin:
    """Return the origin of a node, which stays the same after a run."""
    origin = node.origin
    if origin is None:
        if node.trace is not None:
            return node.trace.serial, node.index
        origin = node.origin = NUMBERS if node.index == NUMBER else (0, next(serial))
    return origin


def made(node: Node) -> None:
    """Note the user's line at which a leaf was created."""
    node.code, node.offset = line = user_line()
    node.origin = 0, next(serial)
    births.append((node.origin, line))


def linked(how: str, before: Node, after: Node, trace: Trace) -> None:
    """Note that one value became another without an op in the thread's trace."""
    links.append(Link(how, (origin_of(before),), (origin_of(after),), user_line(), moment(trace), get_ident()))


def called(arguments: Sequence[Node], body: Any, results: Sequence[Node], trace: Trace) -> None:
    """Note a call of a function that ran at once, without a node in a trace; its variables still hold their old values."""
    before = [n.origin or origin_of(n) for n in arguments]
    before += [n.origin or origin_of(n) for variable in body.variables for n in (variable._tensor.node,)]
    if body.captures:
        before += [n.origin or origin_of(n) for n in body.captures]
    after = []
    for node in results:  # new leaves, without an origin so far
        node.origin = origin = (0, next(serial))
        after.append(origin)
    assigned: Sequence[tuple[Origin, Line]] = ()
    if body.assignments:
        count = len(after) - len(body.assignments)
        assigned = tuple(zip(after[count:], body.assignments, strict=True))
        del after[count:]
    # tuple.__new__ is faster than Link(…): this runs in each call of a function. Five of the library's frames surround it.
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
    """File name → whether it is not the user's: it is the library's, Python's, an installed package's or a command's."""

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
    """Return the innermost running line of the user's own code; the first `depth` frames are skipped.

    With `statement`, the line is in a function and not in a comprehension.

    A thread without user code, such as a package's, gets the last line noted in the main thread. Walking the frames of another
    thread could crash the process.
    """
    global _latest
    first = sys._getframe(depth)
    frame = _outside(others, first)
    here = get_ident() == _main
    if frame is None and not here and _latest is not None:
        return _latest
    if frame is None:  # only installed packages: take the innermost frame outside of this library
        frame = _outside(internal, first) or first
    while statement and frame.f_code.co_name in COMPREHENSIONS and frame.f_back is not None:
        frame = frame.f_back
    line = frame.f_code, frame.f_lasti
    if here:
        _latest = line
    return line


def file_and_number(line: Line) -> tuple[str | None, int | None]:
    """Return the file and the number of a line; None for both if its code is unknown."""
    code, offset = line
    if code is None:
        return None, None
    numbers = [number for start, end, number in code.co_lines() if start <= offset < end and number is not None]
    return code.co_filename, numbers[0] if numbers else code.co_firstlineno


def _outside(files: dict[str, bool], frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame whose file is not among `files`."""
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
