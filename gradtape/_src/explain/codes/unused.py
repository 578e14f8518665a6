"""The code of a source that has no part in the target, by what the target was computed from in its place; and `unknown`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape._src.core.journal import Line
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.evidence import Evidence, Said, cited
from gradtape._src.explain.twins import Called
from gradtape._src.explain.words import Words


class Unused(Evidence):
    code, when, named = "unused", "the target never used the source", "where the target was made"

    def said(self, w: Words) -> Said:
        return Said(f"{w.target} does not depend on {w.source}{self.why(w)}", self.mend(w))

    def why(self, w: Words) -> str:
        """Return what is known besides, with its colon."""
        return ""

    def mend(self, w: Words) -> str:
        """Return the fix."""
        return f"compute {w.target} from {w.source}, or leave it out of the sources"


class Linear(Unused):
    """The target is a gradient by the source, which was asked for at a line, and does not depend on it any more."""

    asked: Line

    def said(self, w: Words) -> Said:
        return Said(
            f"the gradient of `{text.text(self.asked)}` is a constant to {w.source}: what is differentiated there is linear in "
            f"it, or piecewise so; {w.target} does not depend on {w.source} any more",
            "the derivative is zero; `unconnected_gradients='zero'` gives it as zeros",
        )


class LookedUpLate(Unused):
    """A function made in a loop looks up a name of the loop when it is called."""

    name: str

    def said(self, w: Words) -> Said:
        found, written = rewritten.bound_early(self.line, self.name) or (None, f"lambda x, {self.name}={self.name}: …")
        return Said(
            f"{w.target} does not depend on {w.source}: the function in {self.written} looks up {self.name} when it is called, "
            "after the loop, and finds the last one",
            f"bind it where the function is made, by a default: `{written}`",
            None if found is None else text.span(found),
        )


class ComputedAgain(Unused):
    """A line computes the source's value a second time; of two Keras models one is made."""

    again: Line
    models: Sequence[Called]

    def why(self, w: Words) -> str:
        return f": {cited(self.again)} computes the same value again, and that one is used"

    def mend(self, w: Words) -> str:
        if not self.models:
            return f"compute {w.target} from {w.source} itself"
        inner, outer = self.models
        both = f"{outer.keras}.Model({outer.model}.inputs, [{inner.output}, {outer.output}])"
        results = f"{inner.result}, {outer.result}"
        return f"make one model of the two, `both = {both}`, and in the tape write `{results} = both({outer.given})`"


class GoesNoFurther(Unused):
    """The source's value came to the line `end`."""

    end: Line

    def why(self, w: Words) -> str:
        return f": it is used in {cited(self.end)}, and what comes of that goes no further"

    def mend(self, w: Words) -> str:
        name = text.target(self.line) if text.same_line(self.end, self.line) and text.in_a_loop(self.end) else None
        if name and (value := text.value_of(self.line, name)):
            return f"add up what the loop computes, and do not begin again each time: `{name} += {value}`"
        return f"compute {w.target} from what that gives, or leave {w.source} out of the sources"


class Unread(Unused):
    """A function never uses one of its parameters."""

    function: str
    parameter: str

    def why(self, w: Words) -> str:
        return f": `{self.function}` never uses its argument {self.parameter}"

    def mend(self, w: Words) -> str:
        return f"compute what `{self.function}` returns from {self.parameter}"


class Derived(Unused):
    """A line computed the source from what the target was computed from."""

    derived: Line

    def why(self, w: Words) -> str:
        beside = f", which {cited(self.derived)} computed beside it"
        return f"{beside}: what {w.target} was computed from is another value"

    def mend(self, w: Words) -> str:
        return f"compute {w.source} first, and {w.target} from it; or take as the source what {w.target} was computed from"


class FromOthers(Unused):
    """The target was computed from the variables of a `holder`, or from those that it `read`; nothing ran of what is `alone`."""

    holder: str | None
    read: Sequence[Any]
    alone: str | None

    def why(self, w: Words) -> str:
        said = f": it was computed from the variables of `{self.holder}`" if self.holder else ""
        if self.alone:
            return f"{said}, and nothing of `{self.alone}` ran under the tape"
        return f"{said}: it was computed from {' and '.join(map(w.name_of, self.read))}" if self.read else said

    def mend(self, w: Words) -> str:
        if self.alone:
            return f"call `{self.alone}` under the tape and compute {w.target} from what it gives, or leave it out of the sources"
        if self.read:
            return f"compute {w.target} from {w.source}, or take as the source what it was computed from"
        if self.holder:
            return f"take the variables of `{self.holder}` as sources, or leave {w.source} out"
        return super().mend(w)


class Unknown(Evidence):
    code, when, named = "unknown", "None, and what is remembered does not show why", "none"
    asked: bool = True  # a gradient call that is remembered had the source

    def said(self, w: Words) -> Said:
        if not self.asked:
            cause = f"no gradient call that is remembered had {w.source} among its sources"
            return Said(cause, "pass the target, and not None")
        return Said(
            f"the tape gave None for {w.source}, and what is remembered of it does not show why",
            "ask sooner after the gradient call: what ran long ago is forgotten",
        )
