"""The codes of a source that the target does not use, by the values that it uses instead; and `unknown`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.callers import scope_of
from gradtape._src.explain.codes.instead import asked_with, computed_by, uncalled
from gradtape._src.explain.codes.twins import Called, computed_again, computed_from
from gradtape._src.explain.evidence import Evidence, Said, cited, of_no_way
from gradtape._src.explain.history import COPIES, History, Name
from gradtape._src.explain.holders import in_an_object
from gradtape._src.explain.syntax import looked_up_late, named_in
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import Source, View


class Unused(Evidence):
    code, when, named = "unused", "the target never used the source", "where the target was made"
    harmless = True

    def said(self, w: Words) -> Said:
        return Said(f"{w.target} does not depend on {w.source}{self.why(w)}", self.mend(w))

    def why(self, w: Words) -> str:
        """Return the known reason, with its colon; empty if there is none."""
        return ""

    def mend(self, w: Words) -> str:
        """Return the fix."""
        return f"compute {w.target} from {w.source}, or leave it out of the sources"


class Linear(Unused):
    """The target is a gradient with respect to the source that does not depend on it; `asked` is that gradient call's line."""

    asked: Line

    def said(self, w: Words) -> Said:
        return Said(
            f"the gradient of `{text.text(self.asked)}` is a constant to {w.source}: what is differentiated there is linear in "
            f"it, or piecewise so; {w.target} does not depend on {w.source} any more",
            "the derivative is zero; `unconnected_gradients='zero'` gives it as zeros",
        )


class LookedUpLate(Unused):
    """A function made in a loop looks up the loop's variable when it is called."""

    name: str

    def said(self, w: Words) -> Said:
        return Said(
            f"{w.target} does not depend on {w.source}: the function in {self.written} looks up {self.name} when it is called, "
            "after the loop, and finds the last one",
            *rewritten.bound_early(self.line, self.name),
        )


class ComputedAgain(Unused):
    """A line computes the source's value a second time; `models` are the two Keras models that did so."""

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
    """The source's value was last used at the line `end`, and not for the target; `loss`: as a scalar that no call asks."""

    end: Line
    loss: bool

    def why(self, w: Words) -> str:
        return f": it is used in {cited(self.end)}, and what comes of that goes no further"

    def mend(self, w: Words) -> str:
        name = text.target(self.line) if text.same_line(self.end, self.line) and text.in_a_loop(self.end) else None
        if name and (value := text.value_of(self.line, name)):
            return f"add up what the loop computes, and do not begin again each time: `{name} += {value}`"
        if self.loss and (other := text.stored_name(self.end)) not in (None, w.target):
            return f"pass {other} as the target in the place of {w.target}, add it to {w.target}, or leave {w.source} out"
        return f"compute {w.target} from what that gives, or leave {w.source} out of the sources"


class Unread(Unused):
    """A function never reads one of its parameters."""

    function: str
    parameter: str

    def why(self, w: Words) -> str:
        return f": `{self.function}` never uses its argument {self.parameter}"

    def mend(self, w: Words) -> str:
        return f"compute what `{self.function}` returns from {self.parameter}"


class Derived(Unused):
    """The source was computed at a line from values that the target uses directly, or from the target itself (`turned`)."""

    derived: Line
    turned: bool

    def why(self, w: Words) -> str:
        if self.turned:
            return f": {cited(self.derived)} computed {w.source} from {w.target}"
        beside = f", which {cited(self.derived)} computed beside it"
        return f"{beside}: what {w.target} was computed from is another value"

    def mend(self, w: Words) -> str:
        if self.turned:
            return f"ask the other way round: `{w.tape}.gradient({w.source}, {w.target})`"
        return f"compute {w.source} first, and {w.target} from it; or take as the source what {w.target} was computed from"


class FromOthers(Unused):
    """The target uses the variables of a `holder`, or those in `read`; `alone` is the source's object, which was not called."""

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
    asked: bool = True  # a remembered gradient call has the source

    def said(self, w: Words) -> Said:
        if not self.asked:
            cause = f"no gradient call that is remembered had {w.source} among its sources"
            return Said(cause, "pass the target, and not None")
        return Said(
            f"the tape gave None for {w.source}, and what is remembered of it does not show why",
            "ask sooner after the gradient call: what ran long ago is forgotten",
        )


# -- finders


FEW = 2  # variables that an answer may name


@of_no_way(70)
def _looked_up_late(case: Apart) -> Evidence | None:
    """Find a function made in a loop over the holder of a source such as `weights[0]`, which uses the loop's variable.

    The source is not the last item of the holder: that one's function uses the variable's final value.
    """
    if case.end is not None:
        return None
    roots = {re.split(r"\W", name)[0] for name in case.names if name.endswith("]")}
    for code in text.codes_of(case.frame) if roots else ():
        for function, name in looked_up_late(text.tree(code.co_filename), roots):
            return LookedUpLate(text.line_at(code, function.lineno), name=name)
    return None


@of_no_way(80)
def _forgotten(case: Apart) -> Evidence | None:
    return Unknown(text.NO_LINE) if case.view.history.forgot(case.used) else None


@of_no_way(90)
def _linear(case: Apart) -> Evidence | None:
    history = case.view.history
    asked = linear(history, case.source, history.since_state(case.targets))
    return None if asked is None else Linear(case.made, asked=asked)


def linear(history: History, source: Source, used: dict[Name, None]) -> Line | None:
    """Return the gradient call with this source whose result the target uses; the target does not depend on the source."""
    key = source.names[0] if source.number is None else source.number
    for call in reversed(history.calls):
        if key in call.sources and any(call.start <= name < call.stop for name in used if len(name) == 2):
            return call.line
    return None


@of_no_way(100)
def _computed_again(case: Apart) -> Evidence | None:
    again = computed_again(case)
    return None if again is None else ComputedAgain(case.made, again=again[0], models=again[1])


@of_no_way(110)
def _computed_beside(case: Apart) -> Evidence | None:
    derived = computed_from(case)
    turned = not {*case.targets}.isdisjoint(case.view.history.before(case.source.names))
    return None if derived is None else Derived(case.made, derived=derived, turned=turned)


@of_no_way(120)
def _unread(case: Apart) -> Evidence | None:
    unread = text.unread(case.made)
    return None if unread is None else Unread(case.made, function=unread[0], parameter=unread[1])


@of_no_way(130)
def _goes_no_further(case: Apart) -> Evidence | None:
    end = case.end if case.source.variable is not None else dead_end(case.view, case.source, case.used)
    if end is None:
        return None
    history = case.view.history
    ends = [name for name in history.after(case.source.names) if history.line_of(name) == end]
    asked = {target for call in history.calls for target in call.targets}.intersection(ends)
    loss = not asked and any(getattr(history.aval(name), "shape", None) == () for name in ends)
    return GoesNoFurther(case.made, end=end, loss=loss)


def dead_end(view: View, source: Source, used: dict[Name, None]) -> Line | None:
    """Return the last line under the tape that computes with a source a value that the target does not use."""
    history = view.history
    steps = [history.steps[name] for name in history.after(source.names) if name in history.steps and name not in used]
    ends = [step for step in steps if step.op is not None and step.op not in COPIES and view.sees(step.at)]
    last = max(ends, key=lambda step: step.at, default=None)
    if last is None or last.line[0] is None or last.of_shapes or any(call.line == last.line for call in history.calls):
        return None
    return last.line


def never_read(line: Line) -> bool:
    """Return whether the line's function never reads the name that the line assigns."""
    return text.stored_name(line) not in {None, *named_in(scope_of(line), ast.Load)}


@of_no_way(140)
def _from_others(case: Apart) -> Evidence | None:
    holder = computed_by(case) if in_an_object(case.source.variable, case.frame) else None
    return FromOthers(case.made, holder=holder, read=_read(case), alone=uncalled(case))


def _read(case: Apart) -> list[Any]:
    """Return the variables from which the target was computed, if they are few, no sources, and held by no object."""
    numbers = case.view.history.read_variables(case.targets)
    read = [journal.variables.get(number) for number in sorted(numbers)]
    few = case.source.variable is not None and len(read) <= FEW and not numbers & asked_with(case.view, case.source)
    return read if few and not any(v is None or in_an_object(v, case.frame) for v in read) else []
