"""Trials of fixes: the changes in a Diagnosis, applied to copies of the program until the gradient is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from gradtape._src.explain.diagnosis import Diagnosis, by_cause
from gradtape._src.explain.edits import Files, Fix, applied, diff, moved
from gradtape._src.explain.report import ENORMOUS, Finding, Report, watching
from gradtape._src.explain.source import Place

DEEPEST = 3  # breaks of one path that are fixed one after the other
MOST = 6  # trial runs for one cause
NAN = {"NaN", "infinite"}  # for these, zeros count as a fix, as in the gradient of a norm at 0


class Reached(BaseException):
    """Raised when a copy has run the gradient call in question."""


class Trials:
    """Copies of a program, run by `run`, which takes the text of the changed files and a time limit in seconds.

    All copies together may take `seconds`. None means no limit, and allows the program's side effects to be repeated.
    """

    def __init__(self, run: Callable[[Files, float | None], None], seconds: float | None) -> None:
        self._run, self._left, self._copies = run, seconds, 0
        self._flat: tuple[Files, Diagnosis] | None = None  # the first change after which a gradient is 0, and why it is
        self._steep = False  # whether a gradient was enormous after a change

    def told(self, diagnosis: Diagnosis, group: Sequence[Finding], there: Sequence[Finding]) -> Diagnosis:
        """Return the Diagnosis with the successful change as its fix, or with the reason why there is none."""
        hindered = self._hindered(group[0])
        if hindered:
            return replace(diagnosis, _tried=f"fix, not tried as the program {hindered} before (--try-fixes)")
        self._copies, self._flat, self._steep = MOST, None, False
        mended = self._search(diagnosis, {}, group, there, group[0].place, DEEPEST)
        later = [d._fixes[-1] for d in reversed(diagnosis.also) if d._fixes and not d._apart]
        if mended is None and later:  # all at once: of lines that move to the same place, the last edit is the first line
            together = replace(diagnosis, _fixes=(tuple([edit for fix in (*later, diagnosis._fixes[0]) for edit in fix]),))
            mended = self._search(together, {}, group, there, group[0].place, 1)
        if mended is None and diagnosis._otherwise and self._flat is None and self._steep:
            return replace(diagnosis, mend=f"{diagnosis._otherwise}.", _tried="advice")
        if mended is None and self._flat is None:
            return replace(diagnosis, _tried="advice, whose code was tried and is not enough")
        others = tuple([d for d in diagnosis.also if d._apart])  # paths that stay broken although there is a gradient now
        if mended is not None:
            enough = "fix, tried; what is cut besides stays so" if others else "fix, tried"
            return replace(diagnosis, mend="\n".join(diff(mended)), also=others, _tried=enough)
        flat, why = self._flat
        lines = [*diff(flat), *([f"or {diagnosis._otherwise}."] if diagnosis._otherwise else [])]
        others += () if why.line in (None, diagnosis.line) else (replace(why, also=()),)
        return replace(diagnosis, mend="\n".join(lines), also=others, _tried="fix, tried; the gradient is 0 then")

    def _hindered(self, finding: Finding) -> str:
        """Return the side effects or the run time that forbid to run the program again unasked; empty if nothing does."""
        if self._left is None:
            return ""
        return finding.done or (f"computed for {finding.after:.0f} s" if 2 * finding.after > self._left else "")

    def _search(
        self, said: Diagnosis, files: Files, group: Sequence[Finding], there: Sequence[Finding], place: Place, deep: int
    ) -> Files | None:
        """Return the text of the changed files with which a group's gradients are right; None if no change achieves that."""
        for fix in said._fixes:
            changed = applied(fix, files)
            if not self._copies or changed == files:
                continue
            self._copies -= 1
            after = place[0], moved(*place, fix)
            found = self._copied(changed, after, group[0].nth)
            if found is None:
                continue
            left = [f for f in found if not _answered(f, group, there)]
            if not left:
                flat = [f.diagnosis for f in found if f.what == "zeros" and f.last == group[0].nth and _one_of(f, group)]
                if len(flat) < len(group):
                    return changed
                self._flat = self._flat or (changed, flat[0])
            self._steep = self._steep or any(f.what == "enormous" for f in left)
            again = next((f.diagnosis for f in left if f.last == group[0].nth), None)
            if again is not None and deep > 1 and not _same(again, said, fix):
                mended = self._search(again, changed, group, there, after, deep - 1)
                if mended is not None:
                    return mended
        return None

    def _copied(self, files: Files, place: Place, nth: int) -> list[Finding] | None:
        """Return the findings of a gradient call in a copy, up to its `nth` run; None if the copy does not reach it."""

        def heard() -> None:
            if copy.seen.get(place, 0) >= nth:
                raise Reached

        started = time.monotonic()
        with watching(heard, limit=ENORMOUS) as copy:
            try:
                self._run(files, self._left)
            except KeyboardInterrupt:
                raise
            except BaseException:  # it was reached, or the changed program has an error, so that the change is no fix
                pass
            finally:
                if self._left is not None:
                    self._left = max(0.1, self._left - (time.monotonic() - started))
        found = [f for f in copy.findings if f.place == place]
        return found if copy.seen.get(place, 0) >= nth or any(f.last == nth for f in found) else None


def _answered(found: Finding, group: Sequence[Finding], there: Sequence[Finding]) -> bool:
    """Return whether a finding of a copy is acceptable: 0 for NaN, much for nothing, or a flaw that another source had before."""
    if _one_of(found, group) and found.last == group[0].nth:
        return found.what == ("zeros" if {f.what for f in group} <= NAN else "enormous")
    return found.what == "enormous" or _one_of(found, there)


def _one_of(found: Finding, findings: Sequence[Finding]) -> bool:
    """Return whether a finding of a copy is about the same source as one of the program's findings."""
    return found.position in {f.position for f in findings}


def _same(found: Diagnosis, before: Diagnosis, fix: Fix) -> bool:
    """Return whether a break is the one that a fix was for: at the same line, with the same advice."""
    at = before.file, moved(before.file, before.line, fix)
    return (found.code, found.mend, found.file, found.line) == (before.code, before.mend, *at)


def try_fixes(report: Report, run: Callable[[Files, float | None], None], seconds: float | None) -> None:
    """Try the fixes of a report's findings, with the arguments of `Trials`, and write the outcome into the diagnoses."""
    trials = Trials(run, seconds)
    for findings in report.by_place.values():
        for group, diagnosis in by_cause([(f, f.diagnosis) for f in findings]):
            if diagnosis._fixes:
                told = trials.told(diagnosis, group, findings)
                for finding in group:
                    finding.diagnosis = told
