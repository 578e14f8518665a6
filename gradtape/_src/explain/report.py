"""`gradtape why`: the notes about each gradient call while a script runs, and the report at its end."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.places import nearest, place
from gradtape._src.core.programs import journal, transcript
from gradtape._src.core.programs.journal import Asked, Line, Taped
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.explain import source as text
from gradtape._src.explain.diagnosis import Diagnosis, Lack, counted, told
from gradtape._src.explain.explain import Question
from gradtape._src.explain.inside import Inside, finite
from gradtape._src.explain.ran import interpreter
from gradtape._src.explain.source import Place

LOOKS = 16  # calls of a function with tapes that are looked into
LAST_LOOK = LOOKS + 1
MOST_PLACES = 3  # in the first line
ENORMOUS = 1e7  # in a copy, a gradient with larger elements is a flaw, too


@dataclasses.dataclass
class Finding:
    """One source of a gradient call whose gradient is None, zeros, NaN, infinite or enormous, as `what` says, and how often.

    `place` is the line of the call. `position` is the source's index in it, or "target". `nth` and `last` count runs of the call:
    the first and the last with this flaw. `after` is the seconds of work until the first; `done` names the program's side effects
    outside of its process until then, or is empty.
    """

    place: Place
    call: str
    source: str
    what: str
    diagnosis: Diagnosis
    position: int | str
    nth: int
    last: int
    after: float
    done: str
    times: int = 1
    of: str = "gradient"  # or "value", for the target

    @property
    def lack(self) -> Lack:
        """The flaw of the source, for the texts of a report."""
        return Lack(self.source, self.what, self.times, self.of)


class Report:
    """The findings of a run. `calls` counts gradient calls that ran; `seen` those with values, by place.

    A gradient call in a function counts once, however often the function is traced. `heard` is called after each gradient call.
    `done` returns the program's side effects outside of its process. Elements above `limit` are enormous.
    """

    def __init__(self, heard: Callable[[], None], done: Callable[[], str], limit: float) -> None:
        self.calls, self.limit = 0, limit
        self.seen: dict[Place, int] = {}
        self._sources: dict[Place, int] = {}  # the number of sources of a call, by its place
        self._heard, self._done, self._first = heard, done, journal.asked
        self._since: tuple[float, float] | None = None  # the time at which the first tape opened
        self._interpreter = interpreter()
        self._found: dict[Any, Finding] = {}
        self._traced: set[Any] = set()  # the lines of gradient calls under trace
        self._looked: dict[int, int] = {}  # serial number of a function's trace → number of its calls that were looked into

    @property
    def findings(self) -> list[Finding]:
        """The findings in order of discovery, with zeros last, because they may be intended."""
        return sorted(self._found.values(), key=lambda found: found.what == "zeros")

    @property
    def missing(self) -> bool:
        """Whether a gradient was missing, zero or not finite, or a gradient call raised an error."""
        return bool(self._found or self._raised)

    def asked(
        self, call: Asked, tape: Any, targets: Sequence[Any], sources: Sequence[Any], results: Sequence[Any] | None
    ) -> Question | None:
        """Note a gradient call and its results, or None if it raises; return the Question about it, if any.

        The tape still holds its record.
        """
        line = call.line
        self._size(line, sources)
        self.calls += line not in self._traced
        if symbolic():
            self._traced.add(line)
        flaws = ["None" if result is None else _flaw(result, self.limit) for result in results or [None] * len(sources)]
        lacking: dict[str, list[int]] = {}
        for position, what in enumerate(flaws):
            if what is not None and not self._again(line, position, what):
                lacking.setdefault(what, []).append(position)
        question = None if {"NaN", "infinite"} & set(flaws) else self._spoiled(line, tape, targets, sources)
        if lacking:
            question = Question(list(targets), tape)
            said = {what: _said(question, what, [sources[p] for p in positions]) for what, positions in lacking.items()}
            found = [(p, what, diagnosis) for what in lacking for p, diagnosis in zip(lacking[what], said[what], strict=True)]
            for position, what, diagnosis in sorted(found, key=lambda f: f[0]):
                if results is not None or not diagnosis.connected:
                    what = "undefined" if results is None else what
                    self._note(line, position, question.name_of(sources[position]), what, diagnosis)
        if not symbolic():
            self._count(line)
        self._heard()
        return question

    def _count(self, line: Line) -> None:
        self.seen[text.where(line)] = self.seen.get(text.where(line), 0) + 1

    def _size(self, line: Line, sources: Sequence[Any]) -> None:
        """Note the number of sources of a call."""
        where = text.where(line)
        self._sources[where] = max(len(sources), self._sources.get(where, 0))

    def _again(self, line: Line, position: int | str, what: str) -> bool:
        """Count a known finding once more; return whether it was known."""
        found = self._found.get((line, position, what))
        if found is not None and not symbolic():
            found.times, found.last = found.times + 1, self.seen.get(found.place, 0) + 1
        return found is not None

    def _note(self, line: Line, position: int | str, called: str, what: str, diagnosis: Diagnosis, of: str = "gradient") -> None:
        """Add a finding, or count it once more."""
        if not self._again(line, position, what):
            where, written = text.where(line), text.text(line) or ""
            nth, after = self.seen.get(where, 0) + 1, self._worked()
            found = Finding(where, written, called, what, diagnosis, position, nth, nth, after, self._done(), of=of)
            self._found[line, position, what] = found

    def taped(self, taped: Taped, opens: bool) -> None:
        """Note that a tape opens or closes."""
        self._since = self._since or (time.monotonic(), time.process_time())
        self._interpreter.taped(taped, opens)

    def _worked(self) -> float:
        """Return the seconds of work since the first tape opened, without time spent waiting."""
        began = self._since or (time.monotonic(), time.process_time())
        return min(time.monotonic() - began[0], time.process_time() - began[1])

    @property
    def _raised(self) -> list[str]:
        """The places of gradient calls that raised an error every time."""
        failed = [call.line for call in list(journal.calls) if call.number > self._first and call.results is None]
        places = dict.fromkeys(map(text.where, failed))
        return [place(*where) for where in places if where not in self._sources]

    def _spoiled(self, line: Any, tape: Any, targets: Sequence[Any], sources: Sequence[Any]) -> Question | None:
        """Note a target that is NaN or infinite although all of its gradients are finite."""
        for target in targets:
            what = _flaw(target, math.inf) if sources and isinstance(target, Tensor) else None
            if what in (None, "zeros"):
                continue
            if self._again(line, "target", str(what)):
                return None
            question = Question([target], tape)
            found = question.about_nan(sources[:1])
            if found is not None and not found[0].connected:
                self._note(line, "target", question.target, str(what), found[0], "value")
                return question
        return None

    def graphed(self, question: Question, line: Any, sources: Sequence[Any], found: Sequence[Diagnosis | None]) -> None:
        """Note a call of `tf.gradients`, with the reason for each None."""
        self.calls += 1
        self._size(line, sources)
        for position, (source, diagnosis) in enumerate(zip(sources, found, strict=True)):
            if diagnosis is not None and not diagnosis.connected:
                self._note(line, position, question.name_of(source), "None", diagnosis)
        self._count(line)
        self._heard()

    def headline(self, named: str | None = None) -> str:
        """Return a summary: the flawed sources at each gradient call. Places in the file `named` are line numbers alone."""
        raised = f"the gradient call at {', '.join(self._raised)} raised an error" if self._raised else ""
        if not self.calls:
            return raised or "the script asked no tape for a gradient or Jacobian"
        if not self._found:
            calls = f"{self.calls:,} gradient call{'' if self.calls == 1 else 's'}"
            return f"{raised}; {calls} gave all" if raised else f"{calls}, and nothing is missing{self._empty}"
        said = []
        for (file, line), findings in list(self.by_place.items())[:MOST_PLACES]:
            at = nearest(file, line, named)
            said.append(f"{counted([f.lack for f in findings], self._sources.get((file, line), len(findings)))}: {at}")
            named = file
        more = len(self.by_place) - len(said)
        return "; ".join([*said, *([f"and at {more:,} more"] if more else []), *([raised] if raised else [])])

    @property
    def _empty(self) -> str:
        """The sentence about gradient calls without sources."""
        empty = [place(*where) for where, size in self._sources.items() if not size]
        why = "a model's list is empty until it is built, and where nothing is trainable"
        return f"; no source is given at {', '.join(empty)}: {why}" if empty else ""

    def ran(self, results: Any) -> None:
        """Look into a call of a function with a tape: the first few calls, and the first with NaN or infinity."""
        run = transcript.runs()[-1]
        looked = self._looked.get(run.transcript.serial, 0)
        bad = not all(finite(to_numpy(t.node)) for t in nest.flatten(results) if isinstance(t, Tensor))
        if looked >= LAST_LOOK or (looked >= LOOKS and not bad):
            return
        self._looked[run.transcript.serial] = LAST_LOOK if bad else looked + 1
        inside = Inside(run, ())
        question = Question([], None, [], inside)
        for call in inside.calls:
            for position, called, what, diagnosis in question.flaws(call, functools.partial(_flaw_of, limit=self.limit)):
                self._note(call.line, position, called, what, diagnosis, "value" if position == "target" else "gradient")
            self._count(call.line)
        self._heard()

    @property
    def by_place(self) -> dict[Place, list[Finding]]:
        """The findings by the place of their gradient call."""
        places: dict[Place, list[Finding]] = {}
        for finding in self.findings:
            places.setdefault(finding.place, []).append(finding)
        return places

    def __str__(self) -> str:
        lines = [f"gradtape why: {self.headline()}{self._empty if self._found else ''}"]
        named = next((file for file, _ in self.by_place), None)
        for (file, line), findings in self.by_place.items():
            lines += ["", f"{nearest(file, line, named)}: {findings[0].call}"]
            lines += told([(f.lack, f.diagnosis) for f in findings], named)
        return "\n".join(lines)


def _said(question: Question, what: str, sources: Sequence[Any]) -> Sequence[Diagnosis]:
    """Return the diagnoses of sources that have the same flaw."""
    if what == "None":
        return [question.about(source) for source in sources]
    if what == "zeros":
        return question.about_zeros(sources)
    return question.about_nan(sources) or [Diagnosis("unknown")] * len(sources)


def symbolic() -> bool:
    """Return whether a function or graph is being traced, so that values are unknown."""
    return engine.local.trace.parent is not None or engine.local.trace.scope is not None


def values_of(gradient: Any) -> np.ndarray | None:
    """Return the values of a gradient, for IndexedSlices those of its rows; None if there are none."""
    if gradient is None or symbolic():
        return None
    return to_numpy((gradient.values if isinstance(gradient, IndexedSlices) else gradient).node)


def _flaw(gradient: Any, limit: float) -> str | None:
    values = values_of(gradient)
    unused = values is not None and not values.size and isinstance(gradient, IndexedSlices)  # no row of the source was used
    return "zeros" if unused else None if values is None else _flaw_of(values, limit)


def _flaw_of(values: np.ndarray, limit: float) -> str | None:
    if values.dtype.kind not in "fcV" or not values.size:
        return None
    if values.dtype.kind == "V":
        values = values.astype(np.float32)
    if np.isnan(values).any():
        return "NaN"
    if not np.isfinite(values).all():
        return "infinite"
    return "enormous" if np.abs(values).max() > limit else None if values.any() else "zeros"


@contextlib.contextmanager
def watching(
    heard: Callable[[], None] = lambda: None, done: Callable[[], str] = str, limit: float = math.inf
) -> Iterator[Report]:
    """Yield a Report that notes all gradient calls in the context, made of the arguments."""
    report = Report(heard, done, limit)
    listeners = {"asked": report.asked, "taped": report.taped, "ran": report.ran, "graphed": report.graphed, "called": None}
    with hooks.filled(hooks.watch, **listeners), transcript.keeping(), contextlib.closing(report._interpreter):
        yield report
