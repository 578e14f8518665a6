"""`gradtape why`: the notes about each gradient call while a script runs, and the text that is printed at its end."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base import hooks
from gradtape._src.core.engine import engine
from gradtape._src.core.platform.places import nearest, place
from gradtape._src.core.programs import journal, transcript
from gradtape._src.core.programs.journal import Asked, Taped
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.explain import source as text
from gradtape._src.explain.diagnosis import Diagnosis, Lack, counted, told
from gradtape._src.explain.explain import Question, user_frame
from gradtape._src.explain.inside import Inside, finite
from gradtape._src.explain.ran import interpreter

LOOKS = 16  # so many calls of a function with tapes in it are looked into
LAST_LOOK = LOOKS + 1
MOST_PLACES = 3  # in the first line

Place = tuple[str | None, int | None]  # a file and the number of a line


@dataclasses.dataclass
class Finding:
    """A source of a gradient call that had no gradient, or one of zeros, NaN or infinity: `what` of these, how many times.

    `position` is that among the sources, or "target". It was found in the `nth` run of the call that is counted, and in the
    `last` one for the last time; first `after` so many seconds of work, when the program had `done` something outside of its
    process, or nothing.
    """

    file: str | None
    line: int | None
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
    of: str = "gradient"  # or "value", of the target

    @property
    def place(self) -> Place:
        """The line of the gradient call."""
        return self.file, self.line

    @property
    def lack(self) -> Lack:
        """The same, as it is told."""
        return Lack(self.source, self.what, self.times, self.of)


class Report:
    """The findings of a report. `calls` counts gradient calls, each time that they ran; `seen` those with values, by place.

    Of a function its trace counts, and not that it was traced again.

    `heard` is called after each, and `done` gives what the program has done outside of its process.
    """

    def __init__(self, heard: Callable[[], None], done: Callable[[], str]) -> None:
        self.calls = 0
        self.seen: dict[Place, int] = {}
        self._sources: dict[Place, int] = {}  # how many sources a call has, by its place
        self._heard, self._done, self._first = heard, done, journal.asked
        self._since: tuple[float, float] | None = None  # when the first tape was opened
        self._interpreter = interpreter()
        self._found: dict[Any, Finding] = {}
        self._without: dict[str, None] = {}  # the places of calls without a source
        self._traced: set[Any] = set()  # the lines of calls under trace
        self._looked: dict[int, int] = {}  # serial number of a function's trace → how many of its calls were looked into

    @property
    def findings(self) -> list[Finding]:
        """In the order in which they were found first; gradients of zeros, which may be meant, behind the others."""
        return sorted(self._found.values(), key=lambda found: found.what == "zeros")

    @property
    def missing(self) -> bool:
        """Whether a gradient was missing, zero or not finite, or a gradient call raised an error."""
        return bool(self._found or self._raised)

    def asked(
        self, call: Asked, tape: Any, targets: Sequence[Any], sources: Sequence[Any], results: Sequence[Any] | None
    ) -> Question | None:
        """Note a gradient call that gave its results, or None and raises; the tape still holds its record.

        Return the Question if one was asked.
        """
        question = self._asked(call.line, tape, targets, sources, results)
        if not symbolic():
            self._count(call.line)
        self._heard()
        return question

    def _count(self, line: Any) -> None:
        where = text.file(line), text.number(line)
        self.seen[where] = self.seen.get(where, 0) + 1

    def _size(self, line: Any, sources: Sequence[Any]) -> None:
        """Note how many sources a call has."""
        where = text.file(line), text.number(line)
        self._sources[where] = max(len(sources), self._sources.get(where, 0))

    def _again(self, line: Any, position: int | str, what: str) -> bool:
        """Note what was found before, once more; return whether it was."""
        found = self._found.get((line, position, what))
        if found is not None and not symbolic():
            found.times, found.last = found.times + 1, self.seen.get(found.place, 0) + 1
        return found is not None

    def _note(self, line: Any, position: int | str, called: str, what: str, diagnosis: Diagnosis, of: str = "gradient") -> None:
        """Note what is found for the first time."""
        where = text.file(line), text.number(line)
        written, after = text.text(line) or "", self._worked()
        nth = self.seen.get(where, 0) + 1
        self._found[line, position, what] = Finding(
            *where, written, called, what, diagnosis, position, nth, nth, after, self._done(), of=of
        )

    def taped(self, taped: Taped, opens: bool) -> None:
        """Note that a tape opens, or closes."""
        self._since = self._since or (time.monotonic(), time.process_time())
        self._interpreter.taped(taped, opens)

    def close(self) -> None:
        """Note no lines any more."""
        self._interpreter.close()

    def _worked(self) -> float:
        """Return the seconds of work since the first tape was opened, without the waiting for other processes or threads."""
        began = self._since or (time.monotonic(), time.process_time())
        return min(time.monotonic() - began[0], time.process_time() - began[1])

    @property
    def _raised(self) -> list[str]:
        """The places of gradient calls that raised an error each time."""
        failed = [call.line for call in list(journal.calls) if call.number > self._first and call.results is None]
        places = {(text.file(line), text.number(line)): None for line in failed}
        return [place(*where) for where in places if where not in self._sources]

    def _asked(
        self, line: Any, tape: Any, targets: Sequence[Any], sources: Sequence[Any], results: Sequence[Any] | None
    ) -> Question | None:
        self._size(line, sources)
        self.calls += line not in self._traced
        if symbolic():
            self._traced.add(line)
        if not sources:
            self._without[place(text.file(line), text.number(line))] = None
        flaws = ["None" if result is None else _flaw(result) for result in results or [None] * len(sources)]
        lacking: dict[str, list[int]] = {}
        for position, what in enumerate(flaws):
            if what is not None and not self._again(line, position, what):
                lacking.setdefault(what, []).append(position)
        spoiled = None if {"NaN", "infinite"} & set(flaws) else self._spoiled(line, tape, targets, sources)
        if not lacking:
            return spoiled
        question = Question(list(targets), tape, user_frame())
        said = {what: _said(question, what, [sources[p] for p in positions]) for what, positions in lacking.items()}
        found = [(p, what, diagnosis) for what in lacking for p, diagnosis in zip(lacking[what], said[what], strict=True)]
        for position, what, diagnosis in sorted(found, key=lambda f: f[0]):
            if results is None and diagnosis.connected:
                continue
            what = "undefined" if results is None else what
            self._note(line, position, question.name_of(sources[position]), what, diagnosis)
        return question

    def _spoiled(self, line: Any, tape: Any, targets: Sequence[Any], sources: Sequence[Any]) -> Question | None:
        """Note a target that is NaN or infinite, though all of its gradients are finite."""
        for target in targets:
            what = _flaw(target) if sources and isinstance(target, Tensor) else None
            if what in (None, "zeros"):
                continue
            if self._again(line, "target", str(what)):
                return None
            question = Question([target], tape, user_frame())
            diagnosis = question.about_target(sources[0])
            if diagnosis is not None:
                self._note(line, "target", question.target, str(what), diagnosis, "value")
                return question
        return None

    def graphed(self, question: Question, line: Any, sources: Sequence[Any], found: Sequence[Diagnosis | None]) -> None:
        """Note a call of `tf.gradients`, with why a source has no gradient."""
        self.calls += 1
        self._size(line, sources)
        for position, (source, diagnosis) in enumerate(zip(sources, found, strict=True)):
            if diagnosis is not None and not diagnosis.connected and (line, position, "None") not in self._found:
                self._note(line, position, question.name_of(getattr(source, "variable", source)), "None", diagnosis)
        self._count(line)
        self._heard()

    def headline(self, named: str | None = None) -> str:
        """Return how many sources lacked something at each line of a gradient call; of the file `named` by its number alone."""
        raised = f"the gradient call at {', '.join(self._raised)} raised an error" if self._raised else ""
        if not self.calls:
            return raised or "the script asked no tape for a gradient or Jacobian"
        if not self._found:
            calls = f"{self.calls:,} gradient call{'' if self.calls == 1 else 's'}"
            return f"{raised}; {calls} gave all" if raised else f"{calls}, and nothing is missing{self._empty}"
        said = []
        for (file, line), findings in list(self._by_place.items())[:MOST_PLACES]:
            at = nearest(file, line, named)
            said.append(f"{counted([f.lack for f in findings], self._sources.get((file, line), len(findings)))}: {at}")
            named = file
        more = len(self._by_place) - len(said)
        return "; ".join([*said, *([f"and at {more:,} more"] if more else []), *([raised] if raised else [])])

    @property
    def _empty(self) -> str:
        """The words about calls without a source."""
        if not self._without:
            return ""
        why = "a model's list is empty until it is built, and where nothing is trainable"
        return f"; no source is given at {', '.join(self._without)}: {why}"

    def ran(self, results: Any) -> None:
        """Look into a call of a function with a tape: its first calls, and the first that gives NaN or infinity."""
        run = transcript.runs()[-1]
        looked = self._looked.get(run.transcript.serial, 0)
        bad = not all(finite(to_numpy(t.node)) for t in nest.flatten(results) if isinstance(t, Tensor))
        if looked >= LAST_LOOK or (looked >= LOOKS and not bad):
            return
        self._looked[run.transcript.serial] = LAST_LOOK if bad else looked + 1
        inside = Inside(run, ())
        question = Question([], None, user_frame(), [], inside)
        for call in inside.calls:
            for position, called, what, diagnosis in question.flaws(call, _flaw_of):
                if not self._again(call.line, position, what):
                    of = "value" if position == "target" else "gradient"
                    self._note(call.line, position, called, what, diagnosis, of)
            self._count(call.line)
        self._heard()

    @property
    def _by_place(self) -> dict[Place, list[Finding]]:
        places: dict[Place, list[Finding]] = {}
        for finding in self.findings:
            places.setdefault(finding.place, []).append(finding)
        return places

    def __str__(self) -> str:
        lines = [f"gradtape why: {self.headline()}{self._empty if self._found else ''}"]
        named = next((file for file, _ in self._by_place), None)
        for (file, line), findings in self._by_place.items():
            lines += ["", f"{nearest(file, line, named)}: {findings[0].call}"]
            lines += told([(f.lack, f.diagnosis) for f in findings], named)
        return "\n".join(lines)


def _said(question: Question, what: str, sources: Sequence[Any]) -> Sequence[Diagnosis]:
    """Return the diagnoses of sources with the same fault."""
    if what == "None":
        return [question.about(source) for source in sources]
    if what == "zeros":
        return question.about_zeros(sources)
    return question.about_nan(sources) or [Diagnosis("unknown")] * len(sources)


def symbolic() -> bool:
    """Return whether a function or graph is under trace, where no values are known."""
    return engine.local.trace.parent is not None or engine.local.trace.scope is not None


def values_of(gradient: Any) -> np.ndarray | None:
    """Return the values of a gradient, of slices those that they hold; None if there is none or it is unknown."""
    if gradient is None or symbolic():
        return None
    return to_numpy((gradient.values if isinstance(gradient, IndexedSlices) else gradient).node)


def _flaw(gradient: Any) -> str | None:
    values = values_of(gradient)
    if values is not None and not values.size and isinstance(gradient, IndexedSlices):
        return "zeros"  # no row of the source was taken
    return None if values is None else _flaw_of(values)


def _flaw_of(values: np.ndarray) -> str | None:
    if values.dtype.kind not in "fcV" or not values.size:
        return None
    if values.dtype.kind == "V":
        values = values.astype(np.float32)
    if np.isnan(values).any():
        return "NaN"
    if not np.isfinite(values).all():
        return "infinite"
    return None if values.any() else "zeros"


@contextlib.contextmanager
def watching(heard: Callable[[], None] = lambda: None, done: Callable[[], str] = str) -> Iterator[Report]:
    """Note all gradient calls inside of the context; yields the Report. It calls `heard` after each, and asks what was `done`."""
    report = Report(heard, done)
    listeners = {"asked": report.asked, "taped": report.taped, "ran": report.ran, "graphed": report.graphed, "called": None}
    with hooks.filled(hooks.watch, **listeners), transcript.keeping(), contextlib.closing(report):
        yield report
