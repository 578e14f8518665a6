"""The record of a tape for the pictures, op by op. It is read from the journal, also for a tape that was used up."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.programs.program import ELEMENT
from gradtape._src.core.tensors import scopes
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import View
from gradtape._src.explain.history import ELSEWHERE, RESULT, History, Name, Step
from gradtape._src.explain.pictures.residuals import Needed
from gradtape._src.explain.pictures.words import called, variable_name


@dataclass
class Recorded:
    """An op on a tape.

    `number` counts from 0. `inputs` are the numbers of other ops, and `-1 - k` for the k-th of `Record.watched`. `active`: it
    depends on watched values. `kept`: the bytes of its result that are held for the backward pass. `layer` are the name scopes
    around it, which Keras layers open.
    """

    number: int
    name: Name
    op: str
    line: Line
    aval: Any
    inputs: list[int]
    active: bool
    kept: int
    layer: str

    @property
    def where(self) -> text.Place:
        """The user's file, and the number of the line in it."""
        return text.where(self.line)


class Watched(NamedTuple):
    """A variable or watched tensor: an input of the tape's ops from outside, or a source."""

    name: str
    aval: Any


Group = list[Recorded]  # consecutive ops of one line


class Record:
    """The `ops` of a tape in order, and their `watched` inputs; `used`: the tape was used up, and holds nothing.

    `history` is the history of the tape, if it has been built already. `named` returns the name of a variable.
    """

    def __init__(self, tape: GradientTape, history: History | None = None, named: Callable[[Any], str] = variable_name) -> None:
        if tape._recording:
            tape._note()
        self.used = not tape._segments and tape._used
        self.history = History([], [segment.trace for segment in tape._segments]) if history is None else history
        self.view = View(self.history, tape._record)
        self._active: Collection[Name] = ()
        self._kept: dict[Name, int] = {}
        if tape._segments:
            needed = Needed(tape)
            self._active, self._kept = {journal.origin_of(n) for n in needed.active}, dict(needed.kept())
        else:
            self._active = self.view.active()
        self._named, self._layers = named, cache(scopes.prefixes_in)
        self.ops: list[Recorded] = []
        self.watched: list[Watched] = []
        self.place: dict[Name, int] = {}  # name of a value → number of its op, or -1 - k for a watched value
        steps = [s for s in self.history.steps.values() if s.op is not None and s.how != RESULT and len(s.name) == 2]
        for step in sorted([s for s in steps if s.thread != ELSEWHERE and self.view.sees(s.at)], key=lambda s: s.at):
            self._enter(step)

    def groups(self, fold: bool = True) -> list[Group]:
        """Return consecutive ops of one line as groups; each op as a group if not `fold`."""
        return [list(ops) for _, ops in groupby(self.ops, lambda op: op.where if fold else op.number)]

    def _enter(self, step: Step) -> None:
        if step.op is ELEMENT and step.inputs[0] in self.place:  # an op's output is shown with the op
            number = self.place[step.name] = self.place[step.inputs[0]]
            self.ops[number].kept += self._kept.get(step.name, 0)
            return
        inputs = [place for name in dict.fromkeys(step.inputs) if (place := self._place(name)) is not None]
        number, layer = len(self.ops), self._layers(step.name[0])(step.name[1]).rstrip("/")
        self.place[step.name] = number
        aval, active, kept = self.history.aval(step.name), step.name in self._active, self._kept.get(step.name, 0)
        self.ops.append(Recorded(number, step.name, step.how, step.line, aval, inputs, active, kept, layer))

    def _place(self, name: Name) -> int | None:
        if name not in self.place and name in self._active:
            self.place[name] = -1 - len(self.watched)
            self.watched.append(Watched(self._called(name), self.history.aval(name)))
        return self.place.get(name)

    def _called(self, name: Name) -> str:
        """Return the user's name of a watched value."""
        variable = self.history.held_by(name)
        return self._named(variable) if variable is not None else called(self.history.line_of(name)) or "a tensor"
