"""The code of a target that was computed from another object or value than the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradtape._src.core.programs.op import Op
from gradtape._src.explain import source as text
from gradtape._src.explain.evidence import Evidence, Said, of_no_way, of_places, of_steps
from gradtape._src.explain.history import COPIES, Name, Step
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import View


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
