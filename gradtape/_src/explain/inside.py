"""Calls of functions with tapes, opened: their arguments and results are followed to the values inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core.base.reaching import reached
from gradtape._src.core.engine import engine
from gradtape._src.core.programs import journal, transcript
from gradtape._src.core.programs.journal import Asked, Taped
from gradtape._src.core.programs.program import Trace
from gradtape._src.core.programs.transcript import Run, Transcript

Name = tuple[Any, ...]


class OpenedCall(NamedTuple):
    """The Transcript of a call: `given` are the names of its arguments, `around` is the opened call that contains it."""

    transcript: Transcript
    given: Sequence[Name | None]
    around: OpenedCall | None


class Inside:
    """A call, with all functions, branches and loops in it that have tapes; `given` are the names of its arguments."""

    def __init__(self, run: Run, wanted: Iterable[Name], given: Sequence[Name | None] | None = None) -> None:
        self.run = run
        self.within: dict[Name, Name] = dict(zip(run.results, run.transcript.results, strict=False))  # a result → its name inside
        self._passed = dict(zip(run.transcript.passed, run.passed, strict=False))  # a variable's number inside → its own number
        self.wanted = self._followed(wanted)
        self.opened: list[OpenedCall] = []
        known: set[int] = set()
        stack = [OpenedCall(run.transcript, self._arguments(run) if given is None else given, None)]
        while stack:
            current = stack.pop()
            if current.transcript.serial in known:
                continue
            known.add(current.transcript.serial)
            self.opened.append(current)
            # prefer the inner call that returned a wanted value, else take the last
            inner = sorted(current.transcript.inside, key=lambda i: bool(self.wanted & set(i.results or ())))
            for body in inner:
                self.within.update(zip(body.results or (), body.transcript.results, strict=False))
                self.wanted = self._followed(self.wanted)
                stack.append(OpenedCall(body.transcript, body.inputs or (), current))

    @staticmethod
    def _arguments(run: Run) -> list[Name | None]:
        if run.arguments is None:
            kept = run.given()
            return [] if kept is None else [journal.origin_of(node) for node in kept[0]]
        tensors = [None if handle is None else handle() for handle in run.arguments]
        return [None if x is None else journal.origin_of(x.node) for x in tensors]

    def _inwards(self, name: Name) -> list[Name]:
        """Return the names of a result, from the outermost function to the innermost one that returned it."""
        found = [name]
        while (inner := self.within.get(found[-1])) is not None and inner not in found:
            found.append(inner)
        return found

    def _followed(self, names: Iterable[Name]) -> set[Name]:
        return {inner for name in names for inner in self._inwards(name)}

    def variable(self, key: int | Name) -> Any:
        """Return the variable of a source in the function; None if the source is a tensor, or the variable was deleted."""
        return journal.variables.get(self._passed.get(key, key)) if isinstance(key, int) else None

    def while_finite(self) -> Inside:
        """Return the last kept call of the function whose inputs are all finite; this call if there is none."""
        for run in reversed(transcript.runs()):
            kept = run.given() if run.transcript is self.run.transcript else None
            if kept is not None and all(map(finite, kept[1])):
                earlier = Inside(run, self.wanted)
                earlier.within.update(self.within)
                return earlier
        return self

    @property
    def calls(self) -> list[Asked]:
        """The gradient calls inside."""
        return [call for opened in self.opened for call in opened.transcript.calls]

    @property
    def tapes(self) -> list[Taped]:
        """The tapes inside."""
        return [tape for opened in self.opened for tape in opened.transcript.tapes]

    def innermost(self, name: Name) -> Name:
        """Return the name of a result in the innermost function that returned it."""
        return self._inwards(name)[-1]

    def keys(self, key: int | Name) -> list[int | Name]:
        """Return the names of a source: outside, and as a parameter of the functions inside."""
        if isinstance(key, int):
            return [key, *[inner for inner, outer in self._passed.items() if outer == key]]
        found: list[Name] = [key]
        for opened in self.opened:
            found += [own for own, given in zip(opened.transcript.inputs, opened.given, strict=False) if given in found]
        return [*dict.fromkeys([*found, self.innermost(key)])]

    def call(self, keys: Sequence[int | Name]) -> Asked | None:
        """Return the last gradient call with the target and source, else with one of them (the target first), else the last."""

        def fits(call: Asked) -> tuple[bool, bool]:
            return bool(self.wanted & set(call.targets)), any(k in call.sources for k in keys)

        return max(reversed(self.calls), key=fits, default=None)


def finite(array: Any) -> bool:
    """Return whether an array has no NaN and no infinity."""
    values = np.asarray(array)
    if values.dtype.kind == "V":  # bfloat16 and similar dtypes
        values = values.astype(np.float32)
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def of_results(names: Iterable[Name]) -> Inside | None:
    """Return the call that returned one of these values; None if no function with a tape did."""
    wanted = list(names)
    for run, given in _calls():
        if any(name in run.results for name in wanted):
            return Inside(run, wanted, given)
    return None


def of_source(key: int | Name) -> Inside | None:
    """Return the last call of a function in which a gradient with respect to the source was asked for."""
    tried: set[tuple[int, ...]] = set()
    for run, given in _calls():
        if isinstance(key, int) and (run.transcript.serial, *run.passed) in tried:
            continue
        tried.add((run.transcript.serial, *run.passed))
        found = Inside(run, (), given)
        if any(k in call.sources for call in found.calls for k in found.keys(key)):
            return found
    return None


def _calls() -> Iterator[tuple[Run, Sequence[Name] | None]]:
    """Yield the calls of functions with tapes, the last one first: those of functions under trace, then those of eager code."""
    trace: Trace | None = engine.local.trace
    while trace is not None:
        scope: Any = trace.scope
        for inner in reversed(getattr(scope, "inside", ())):
            yield Run(inner.transcript, inner.results or (), (), journal.asked, None), inner.inputs or ()
        trace = trace.parent
    for run in reversed(transcript.runs()):
        yield run, None


def asked_in_functions() -> set[int]:
    """Return the serial numbers of the traces of functions that were called."""
    called = reached([run.transcript for run, _ in _calls()], lambda own: [inner.transcript for inner in own.inside])
    return {own.serial for own in called}
