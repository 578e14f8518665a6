"""The code of a target that was computed from another object or value than the source, such as a similar object."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.programs.op import Op
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.callers import statements_under_tape
from gradtape._src.explain.evidence import Evidence, Said, of_no_way, of_places, of_steps
from gradtape._src.explain.history import COPIES, Name, Step
from gradtape._src.explain.holders import LISTS, Held, objects
from gradtape._src.explain.syntax import looked_up_late
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import Source, View

DEEPEST = 2  # attributes and entries in the path to an object


class WrongObject(Evidence):
    code, named = "wrong_object", "where that was called, made or put"
    when = (
        "a copy, a stale read or another variable; such as that of an object of the same class that was called in its place (a "
        "target network, a clone), of a layer that was replaced, or one made anew in the tape or the call"
    )


class Stale(WrongObject):
    """The source was read before the tape opened."""

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} took {w.source}'s value before the tape opened; {w.target} was computed from that",
            f"inside the tape use {w.source} itself, or move {self.written} into its `with` block",
        )


class Copy(WrongObject):
    """The target uses a copy of the source."""

    def said(self, w: Words) -> Said:
        cause = f"{self.written} made a copy of {w.source}, and {w.target} was computed from the copy"
        return Said(cause, "pass the copy, or use the original")


class Anew(WrongObject):
    """The gradient call itself creates the source."""

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} makes the source anew, after {w.target} was computed, which came from another value",
            "give it a name, compute with it under the tape (`watch` it, if it is no Variable), and pass that name",
        )


class Instead(WrongObject):
    """`holder` was called, also in further lines, instead of `own`, which holds the source."""

    own: str
    holder: str
    lines: Sequence[int | None]

    def said(self, w: Words) -> Said:
        more = f", and in line{'s' if len(self.lines) > 1 else ''} {', '.join(map(str, self.lines))}" if self.lines else ""
        cause = f"{w.target} was computed from `{self.holder}` in {self.written}{more}, and nothing of `{self.own}`, which holds "
        cause += f"{w.source}, ran under the tape"
        root, at = {self.holder.partition("[")[0]}, text.number(self.line)
        late = [name for f, name in looked_up_late(text.tree(text.file(self.line)), root) if f.lineno == at]
        if late:
            return Said(f"{cause}: the function looks up {late[0]} when it is called", *rewritten.bound_early(self.line, late[0]))
        return Said(
            cause,
            f"call `{self.own}` there, in the place of `{self.holder}`; or pass the variables of `{self.holder}`",
        )


def called_instead(case: Apart) -> Instead | None:
    """Return the break of a source in an unused object, if the tape used another object with the same kinds of variables.

    An example is a target network called instead of the online network. An object that is itself trained counts only if it was
    called more than once.
    """
    view, source, numbers = case.view, case.source, case.view.history.read_variables(case.targets)
    if source.number is None or not numbers or used_under_tape(view, source):
        return None
    known, asked = _objects(case.frame), asked_with(view, source)
    for own in known:
        if source.number not in own.numbers or numbers & set(own.numbers):
            continue
        for other in known:
            if type(other.object) is not type(own.object) or source.number in other.numbers:
                continue
            if _kinds(other.numbers) != _kinds(own.numbers):
                continue
            at = other.numbers[own.numbers.index(source.number)]
            if at in numbers and (at not in asked or len(_uses(view, at)) > 1):
                lines = _calls_of(view, source, other) or [step.line for step in _uses(view, at)[-1:]]
                others = [text.number(line) for line in lines[:-1]]
                return Instead(lines[-1], own=own.path, holder=other.path, lines=others)
    return None


def uncalled(case: Apart) -> str | None:
    """Return the path of the largest callable object that holds the source and no variable that the target uses."""
    source, numbers = case.source, case.view.history.read_variables(case.targets)
    if source.number is None or used_under_tape(case.view, source):
        return None
    found = [held for held in _objects(case.frame) if source.number in held.numbers and not numbers & set(held.numbers)]
    return next((held.path for held in found if callable(held.object)), None)


def computed_by(case: Apart) -> str | None:
    """Return the path of the first callable object that holds all variables of the target, and not the source."""
    source, numbers = case.source, case.view.history.read_variables(case.targets)
    if source.number is None or not numbers:
        return None
    found = [held for held in _objects(case.frame) if numbers <= set(held.numbers) and source.number not in held.numbers]
    return next((held.path for held in found if callable(held.object)), None)


def used_under_tape(view: View, source: Source) -> bool:
    """Return whether the tape recorded an op with a value of the source as input."""
    return any(view.sees(step.at) for name in source.names for step in view.history.users.get(name, ()))


def asked_with(view: View, source: Source) -> set[int]:
    """Return the numbers of the variables that shared a gradient call with the source."""
    calls = [call for call in view.history.calls if source.number in call.sources]
    return {key for call in calls for key in call.sources if isinstance(key, int)}


def _objects(frame: FrameType | None) -> list[Held]:
    return [held for held in objects(frame, DEEPEST) if not isinstance(held.object, LISTS)]


def _kinds(numbers: list[int]) -> list[Any]:
    """Return the Avals of variables; None for deleted ones."""
    variables = [journal.variables.get(number) for number in numbers]
    return [None if variable is None else variable._tensor.node.aval for variable in variables]


def _uses(view: View, number: int) -> list[Step]:
    """Return the steps under the tape that compute with a variable, in order."""
    names = view.history.holdings(number)
    steps = [step for name in names for step in view.history.users.get(name, ()) if view.sees(step.at) and step.op not in COPIES]
    return sorted(steps, key=lambda step: step.at)


def _calls_of(view: View, source: Source, other: Held) -> list[Line]:
    """Return the lines under the tape that name an object; those with `stop_gradient` come first.

    The last line is most likely the wrong call, because a loss calls its target network first.
    """
    call = next((call for call in reversed(view.history.calls) if source.number in call.sources), None)
    if call is None or call.line[0] is None:
        return []
    written = re.compile(rf"(?<![\w.]){re.escape(other.path)}(?!\w)")
    found = [n for n in statements_under_tape(call.line) if any(written.search(part) for part in text.heads(n))]
    found.sort(key=lambda n: "stop_gradient" not in ast.unparse(n))
    return [text.line_at(call.line[0], n.lineno) for n in found]


# -- finders


@of_steps(10)
def _copied(view: View, before: Name, step: Step, op: Op | None) -> Evidence | None:
    return Copy(step.line, None, step) if op is None and step.how == "variable" and view.is_variable(before) else None


@of_places(50)
def _read_before(view: View, before: Name, step: Step, outer: Step) -> Evidence | None:
    return Stale(step.line, step.how, step) if step.op in COPIES and view.is_variable(before) else None


@of_no_way(60)
def _made_anew(case: Apart) -> Evidence | None:
    """Find a tensor that is created in the statement of the gradient call."""
    view, source = case.view, case.source
    asked = [call.line for call in view.history.calls if source.number is None and source.names[0] in call.sources]
    if source.made[0] is None or not any(text.same_line(source.made, line) for line in asked):
        return None
    return Anew(source.made)
