"""The codes of a source that the tape does not watch, or watches too late."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradtape._src.core.programs.op import Op
from gradtape._src.explain import source as text
from gradtape._src.explain.callers import MADE, scope_of
from gradtape._src.explain.codes.instead import uses_under_tape
from gradtape._src.explain.evidence import Evidence, Said, of_no_way, of_places, of_steps
from gradtape._src.explain.history import RESULT, Name, Step
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import View


class NotWatched(Evidence):
    code, when = "not_watched", "a tensor that nobody watched"
    named = "where it was made; where a function first uses its argument"
    automatic: bool = True  # the tape watches variables by itself
    unbuilt: bool = False  # the variable was made under the tape

    def said(self, w: Words) -> Said:
        if self.automatic:
            cause = f"{w.source} is a tensor, not a Variable, and {w.tape} did not watch it"
        else:
            cause = f"the tape was opened with watch_accessed_variables=False, and nobody watched {w.source}"
        if self.unbuilt:
            return Said(cause, "it was made under the tape only: build the model before, by calling it once, and watch then")
        return Said(cause, f"inside the tape, before {w.source} is used, write `{w.tape}.watch({w.code})`")


class WatchedLate(Evidence):
    code, when, named = "watched_late", "`watch` came after the op that uses the source", "that op"
    made: bool  # the watched value is the result of an op

    def said(self, w: Words) -> Said:
        place = "the line after the one that computes it" if self.made else "the beginning of the tape"
        cause = f"{self.written} ran before `{w.tape}.watch({w.code})`, which counts only for what runs after it"
        return Said(cause, f"move `{w.tape}.watch({w.code})` to {place}")


class Rebound(Evidence):
    """`held` says that an object or a list held the Variable."""

    code, named = "rebound", "the rebinding"
    when = (
        "the name of a Variable now holds a tensor; or its attribute or list entry does, as after `x = x + 1`, or after a step "
        "that returns new tensors"
    )
    name: str
    held: bool = False

    def said(self, w: Words) -> Said:
        name = self.name or text.stored_name(self.line) or "x"
        if getattr(scope_of(self.line), "name", "") in MADE:
            cause = f"{name} held Variables, and {self.written} put tensors in their place, which no tape watches"
            compute = f"compute {name} from them in a method, or a property, that runs under the tape: this runs once"
            return Said(cause, f"keep the Variables under a name of their own, and {compute}, where the object is made")
        listed = (text.value_of(self.line, name) or "").startswith("[")
        if self.held or listed or w.source.startswith((f"{name}[", f"{name}.")):
            return self._of_a_holder(w, name)
        new = "another Variable" if text.makes_a_variable(self.line) else "a tensor that no tape watches"
        cause = f"the name {name} was a Variable's, and {self.written} gave it to {new}"
        assigned = text.assignments(self.line)
        if assigned is None:
            return Said(cause, f"change the Variable instead: try `{name}.assign(…)` with the new value, and keep its name")
        return Said(cause, f"change the Variable instead: `{assigned}`")

    def _of_a_holder(self, w: Words, name: str) -> Said:
        """Return the sentences about a functional update, which replaced the Variables of an object or list by tensors."""
        cause = f"{w.source} was a Variable, and {self.written} put a tensor in its place, which no tape watches"
        held = re.escape(name.removeprefix("self."))  # the source may have a longer path than in the line
        entry, new = re.fullmatch(rf"(?:[\w.]+\.)?{held}\[([^\]]*)\]", w.source), text.value_of(self.line, name)
        if entry is None or new is None:
            change = f"`{w.source}.assign(…)` with the new value, and keep what holds it"
        elif entry[1].isdigit():
            change = f"`for variable, new in zip({name}, {new}): variable.assign(new)`"
        else:
            change = f"`for key, new in {new}.items(): {name}[key].assign(new)`"
        return Said(cause, f"change the Variables instead: try {change}")


class NotTrainable(Evidence):
    code, when, named = "not_trainable", "a variable with `trainable=False` that nobody watched", "where it was read"
    harmless = True
    unused: bool = False
    alone: bool = False  # no source of the gradient call is trainable

    def said(self, w: Words) -> Said:
        every = re.search(r"([\w.]+)\.(?:variables|weights)\b", text.text(w.asked) or "")
        trained = f"take `{every[1] if every else 'model'}.trainable_variables` as sources"
        if self.unused:
            cause = f"{w.source} was made with trainable=False and is only kept up to date: {w.target} does not depend on it"
            return Said(cause, trained)
        watch = f"inside the tape write `{w.tape}.watch({w.code})`, or make it with trainable=True"
        cause = f"{w.source} was made with trainable=False, so the tape does not watch it by itself"
        return Said(cause, trained if every and not self.alone else watch)


@of_steps(90)
def _watched_late(view: View, before: Name, step: Step, op: Op | None) -> Evidence | None:
    watched = view.watched.get(before)
    if watched is None or step.how == RESULT or not view.recorded(step):
        return None
    if not view.later(watched, step.at) or view.was_active(before):
        return None
    made, outer = view.history.steps.get(before), view.history.steps.get(step.name[:2], step)
    return WatchedLate(outer.line, step.how, step, made=made is not None and made.how != RESULT)


@of_places(60)
def _rebound(view: View, before: Name, step: Step, outer: Step) -> Evidence | None:
    called = text.rebound_name(step.line) if outer is step and view.is_variable(before) else None
    return Rebound(step.line, step.how, step, name=called) if called is not None and _reads(step, before, called) else None


def _reads(step: Step, before: Name, called: str) -> bool:
    """Return whether the expression of a step's input contains the name `called`."""
    given, at = text.parts(step.line), step.inputs.index(before)
    found = given[at] if len(given) == len(step.inputs) else text.expression_at(step.line)
    return found is None or called in text.read_in(found)


@of_no_way(10)
def _only_kept(case: Apart) -> Evidence | None:
    """Find the first use, under the tape, of a variable that is not trainable, such as a moving mean."""
    view, source = case.view, case.source
    if source.number is None or source.trainable or view.fault_of_variable(source, None) is None:
        return None
    uses = uses_under_tape(view, source.names)
    return NotTrainable(uses[0].line, uses[0].how, uses[0], unused=True) if uses else None
