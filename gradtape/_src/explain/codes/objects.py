"""The code of a target that was computed from another object or value than the one that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradtape._src.core.op import Op
from gradtape._src.explain.evidence import Evidence, Said, of_places, of_steps
from gradtape._src.explain.history import COPIES, Name, Step
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.breaks import View


class WrongObject(Evidence):
    code, named = "wrong_object", "where that was called, made or put"
    when = (
        "a copy, a stale read or another variable; such as that of an object of the same class that was called in its place (a "
        "target network, a clone), of a layer that was replaced, or one made anew in the tape or the call"
    )


class Stale(WrongObject):
    """The variable was read before the tape opened."""

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} took {w.source}'s value before the tape opened; {w.target} was computed from that",
            f"inside the tape use {w.source} itself, or move {self.written} into its `with` block",
        )


class Copied(WrongObject):
    """The source is a copy."""

    def said(self, w: Words) -> Said:
        cause = f"{w.source} is a copy, made in {self.written}; {w.target} was computed from the original"
        return Said(cause, "pass the original")


class Copy(WrongObject):
    """The source is the original."""

    def said(self, w: Words) -> Said:
        cause = f"{self.written} made a copy of {w.source}, and {w.target} was computed from the copy"
        return Said(cause, "pass the copy, or use the original")


class Fresh(WrongObject):
    """The tape made a new variable."""

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} made a new variable in the tape, and {w.target} was computed from that",
            "make the variable, or the layer that holds it, once and before the tape",
        )


class Later(WrongObject):
    """The source was made after the target was computed."""

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} made the variable {w.source} after {w.target} was computed",
            f"make it, or the layer that holds it, before, and compute {w.target} from it",
        )


class Anew(WrongObject):
    """The source is made in the gradient call."""

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} makes the source anew, after {w.target} was computed, which came from another value",
            "give it a name, compute with it under the tape (`watch` it, if it is no Variable), and pass that name",
        )


class Instead(WrongObject):
    """`holder` was called, in further lines, too, and not `own`, which holds the source."""

    own: str
    holder: str
    lines: Sequence[int | None]

    def said(self, w: Words) -> Said:
        more = f", and in line{'s' if len(self.lines) > 1 else ''} {', '.join(map(str, self.lines))}" if self.lines else ""
        return Said(
            f"{w.target} was computed from `{self.holder}` in {self.written}{more}, and nothing of `{self.own}`, which holds "
            f"{w.source}, ran under the tape",
            f"call `{self.own}` there, in the place of `{self.holder}`; or pass the variables of `{self.holder}`",
        )


class ReadBack(WrongObject):
    """A variable was filled from a file."""

    variable: Any

    def said(self, w: Words) -> Said:
        read = w.name_of(self.variable)
        return Said(
            f"{w.target} was computed from {read}, which {self.written} filled from a file, and not from {w.source}",
            f"pass {read}, or compute {w.target} from {w.source}",
        )


class Stood(WrongObject):
    """The source was put into an `entry` where another variable stood."""

    entry: str | None

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} put another variable in the place of the one that {w.target} was computed from, as a tf.function "
            "does that was traced before",
            f"keep the variable and give it the new value, `{self.entry}.assign(…)`; or make the function after it",
        )


class Another(WrongObject):
    """The target was computed from the variable of a name, which a `holder` holds, or a `default`: a function's parameter."""

    name: str
    holder: str | None = None
    default: tuple[str, str] | None = None

    def said(self, w: Words) -> Said:
        if self.default is not None:
            function, parameter = self.default
            return Said(
                f"{w.target} was computed from {self.name}, which the default `{parameter}` of `{function}` holds since that was "
                f"made, and not from {w.source}",
                f"pass `{parameter}` when `{function}` is called",
            )
        if self.holder is None:
            return Said(
                f"{w.target} was computed from another variable, {self.name}, than the one that was passed",
                "pass the variable that is used now, for example after a layer was built again",
            )
        return Said(
            f"{w.target} was computed from another variable than {w.source}: from {self.name}, which `{self.holder}` holds",
            f"pass the variables of `{self.holder}`, or compute {w.target} from those that were passed",
        )


@of_steps(10)
def _copied(view: View, before: Name, step: Step, op: Op | None) -> Evidence | None:
    return Copy(step.line, None, step) if op is None and step.how == "variable" and view.is_variable(before) else None


@of_places(50)
def _read_before(view: View, before: Name, step: Step, outer: Step) -> Evidence | None:
    return Stale(step.line, step.how, step) if step.op in COPIES and view.is_variable(before) else None
