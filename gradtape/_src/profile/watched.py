"""`gradtape profile`: the cost of each gradient call of a script, and the time of each line."""

from __future__ import annotations

import contextlib
import html
import linecache
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import resources
from string import Template
from typing import Any

from gradtape._src.core.base import hooks
from gradtape._src.core.base.tracebacks import foreign, internal
from gradtape._src.core.programs.journal import Asked, file_and_number
from gradtape._src.profile.profile import Profile, of_call
from gradtape._src.profile.report import LONGEST, Table, costs_by, relative, rendered

PERIOD = 0.005  # seconds between two samples
LIBRARIES = f"{os.sep}site-packages{os.sep}"
Line = tuple[str | None, int | None]  # file and line number


class Clock:
    """A sampling profiler: seconds by line. It counts the innermost line outside of libraries; failing that, of numeric ones."""

    def __init__(self) -> None:
        self.seconds: dict[Line, float] = defaultdict(float)
        self.total = 0.0
        self._thread, self._over = threading.get_ident(), threading.Event()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Sample the thread that enters the context."""
        looker = threading.Thread(target=self._look, name="gradtape profile", daemon=True)
        looker.start()
        try:
            yield
        finally:
            self._over.set()
            looker.join()

    def _look(self) -> None:
        before = time.perf_counter()
        while not self._over.wait(PERIOD):
            now = time.perf_counter()
            self._note(now - before)
            before = now

    def _note(self, passed: float) -> None:
        self.total += passed
        frame, of_library = sys._current_frames().get(self._thread), None
        while frame is not None:
            file = frame.f_code.co_filename
            if not (internal[file] or foreign[file] or file.startswith("<")):
                if LIBRARIES not in file:
                    break
                of_library = of_library or frame
            frame = frame.f_back
        found = frame or of_library
        if found is not None:
            self.seconds[found.f_code.co_filename, found.f_lineno] += passed


class WatchedCall:
    """A line with gradient calls: the cost of the first one, and their number."""

    def __init__(self, line: Line, costs: Profile) -> None:
        self.line, self.costs, self.times = line, costs, 0


class Watched:
    """The gradient calls of a script, and its clock."""

    def __init__(self) -> None:
        self.calls: dict[Any, WatchedCall] = {}
        self.clock = Clock()

    def asked(self, call: Asked, tape: Any, targets: Sequence[Any], sources: Sequence[Any], results: Sequence[Any]) -> None:
        """Note a gradient call while the tape still has its record. A call in a function is noted when that is traced."""
        if call.line not in self.calls:
            self.calls[call.line] = WatchedCall(file_and_number(call.line), of_call(tape, targets, sources))
        self.calls[call.line].times += 1

    def tables(self) -> Iterator[tuple[str, Table]]:
        """Yield the tables of the report with their titles."""
        seconds = sorted(self.clock.seconds.items(), key=lambda item: -item[1])
        times = [[*_place(line), f"{s:.2f}", f"{s / self.clock.total:.0%}"] for line, s in seconds]
        yield f"time by line, {self.clock.total:.1f} s in all", (["line", "", ">seconds", ">share"], times)
        for call in sorted(self.calls.values(), key=lambda call: -call.costs.flops):
            where, written = _place(call.line)
            costs = call.costs
            yield (
                f"{where}: {written} ({call.times} ×)\n"
                f"one call: {costs.forward.flops:,} FLOPs forward, {costs.backward.flops:,} backward, "
                f"at most {costs.peak_bytes:,} bytes alive",
                _costs(costs, "line"),
            )
            if costs.forward.by_layer:
                yield "", _costs(costs, "layer")


def _costs(costs: Profile, what: str) -> Table:
    """Return a table of one call's costs by line or layer."""
    rows = [[name, _text(name), f"{f:,}", f"{b:,}", f"{moved:,}"] for name, _, f, b, moved in costs_by(costs, what)]
    return [what, "", ">FLOPs forward", ">FLOPs backward", ">bytes"], rows


def _text(where: str) -> str:
    """Return the source text of `file:number`; "" for any other place."""
    file, _, number = where.rpartition(":")
    return linecache.getline(os.path.abspath(file), int(number)).strip() if number.isdigit() else ""


def _place(line: Line) -> tuple[str, str]:
    """Return a line as `file:number`, relative to the working directory if possible, and its source text."""
    file, number = line
    return relative(file, number), linecache.getline(file or "", number or 0).strip()


def text(watched: Watched, width: int) -> str:
    """Return the report as text, `width` columns wide."""
    parts = [part for titled in watched.tables() for part in titled]
    return rendered(parts if watched.calls else [*parts, "no gradient was asked for"], width)


def page(watched: Watched, script: str) -> str:
    """Return the report as a self-contained HTML page."""
    parts = []
    for title, (headings, rows) in watched.tables():
        first, _, rest = html.escape(title).partition("\n")
        parts.append(f"<h2>{first}</h2>" if first else "")
        parts.append(f"<p>{rest}</p>" if rest else "")
        parts.append("<table><tr>" + "".join([f"<th>{html.escape(h.removeprefix('>'))}</th>" for h in headings if h]) + "</tr>")
        most = max([_number(row) for row in rows], default=0.0) or 1.0
        parts += [_row(row, _number(row) / most) for row in rows[:LONGEST]]
        parts.append("</table>")
    whole = Template(resources.files(__package__).joinpath("page.html").read_text("utf-8"))
    return whole.substitute(title=html.escape(script), body="\n".join(parts or ["<p>no gradient was asked for</p>"]))


def _number(row: Sequence[str]) -> float:
    numbers = [float(cell.replace(",", "")) for cell in row[2:] if not cell.endswith("%")]
    return sum(numbers[:2])


def _row(row: Sequence[str], share: float) -> str:
    first, written, *cells = [html.escape(cell) for cell in row]
    code = f"<br><code>{written}</code>" if written else ""
    bar = f'<span class="bar" style="width: {share:.1%}"></span>'
    return f"<tr><td>{first}{code}{bar}</td>" + "".join([f"<td>{cell}</td>" for cell in cells]) + "</tr>"


@contextlib.contextmanager
def watching() -> Iterator[Watched]:
    """Open a context that notes the costs of all gradient calls, and the time of this thread's lines."""
    watched = Watched()
    with hooks.filled(hooks.watch, asked=watched.asked), watched.clock.running():
        yield watched
