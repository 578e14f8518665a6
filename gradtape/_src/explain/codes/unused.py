"""The codes of a source that the target does not use, by the values that it uses instead; and `unknown`."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.callers import scope_of
from gradtape._src.explain.codes.instead import Tell, asked_with, callable_with, uses_under_tape
from gradtape._src.explain.evidence import Evidence, Said, cited, of_no_way
from gradtape._src.explain.history import COPIES, History, Name
from gradtape._src.explain.holders import in_an_object
from gradtape._src.explain.syntax import looked_up_late, named_in
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import Source, View

FEW = 2  # variables that an answer may name


class Unused(Evidence):
    code, when, named = "unused", "the target never used the source", "where the target was made"
    harmless = True
    tell: Tell | None = None  # the sentences, if it is known what the target uses instead

    def said(self, w: Words) -> Said:
        return not_used(w) if self.tell is None else self.tell(self, w)


def not_used(w: Words, why: str = "", mend: str | None = None) -> Said:
    """Return the sentences about a source that the target does not use; `why` is the known reason, with its colon."""
    cause = f"{w.target} does not depend on {w.source}{why}"
    return Said(cause, mend or f"compute {w.target} from {w.source}, or leave it out of the sources")


class Unknown(Evidence):
    code, when, named = "unknown", "None, and what is remembered does not show why", "none"
    asked: bool = True  # a remembered gradient call has the source

    def said(self, w: Words) -> Said:
        if not self.asked:
            cause = f"no gradient call that is remembered had {w.source} among its sources"
            return Said(cause, "pass the target, and not None")
        cause = f"the tape gave None for {w.source}, and what is remembered of it does not show why"
        return Said(cause, "ask sooner after the gradient call: what ran long ago is forgotten")


class Called(NamedTuple):
    """A line that calls a functional or sequential Keras model, `y = model(x)`: its names, and the name of the Keras module."""

    result: str
    model: str
    output: str  # the model's output, such as `model.output`
    given: str
    keras: str


# -- sentences


def _of_a_linear_function(b: Evidence, w: Words, asked: Line) -> Said:
    """Return the sentences about a target that is itself a gradient with respect to the source, of the call at a line."""
    cause = f"the gradient of `{text.text(asked)}` is a constant to {w.source}: what is differentiated there is linear in it, or "
    cause += f"piecewise so; {w.target} does not depend on {w.source} any more"
    return Said(cause, "the derivative is zero; `unconnected_gradients='zero'` gives it as zeros")


def _of_a_late_look_up(b: Evidence, w: Words, name: str) -> Said:
    why = f": the function in {b.written} looks up {name} when it is called, after the loop, and finds the last one"
    return Said(not_used(w, why).cause, *rewritten.bound_early(b.line, name))


def _of_a_second_computation(b: Evidence, w: Words, again: Line, models: Sequence[Called]) -> Said:
    """Return the sentences about a line that computes the source's value again; `models` are the two models that did so."""
    why = f": {cited(again)} computes the same value again, and that one is used"
    if not models:
        return not_used(w, why, f"compute {w.target} from {w.source} itself")
    inner, outer = models
    both = f"{outer.keras}.Model({outer.model}.inputs, [{inner.output}, {outer.output}])"
    results = f"{inner.result}, {outer.result}"
    mend = f"make one model of the two, `both = {both}`, and in the tape write `{results} = both({outer.given})`"
    return not_used(w, why, mend)


def _of_a_dead_end(b: Evidence, w: Words, end: Line, loss: bool) -> Said:
    """Return the sentences about a source that was last used at a line, not for the target; `loss`: for an unasked scalar."""
    why = f": it is used in {cited(end)}, and what comes of that goes no further"
    name = text.target(b.line) if text.same_line(end, b.line) and text.in_a_loop(end) else None
    if name and (value := text.value_of(b.line, name)):
        return not_used(w, why, f"add up what the loop computes, and do not begin again each time: `{name} += {value}`")
    if loss and (other := text.stored_name(end)) not in (None, w.target):
        mend = f"pass {other} as the target in the place of {w.target}, add it to {w.target}, or leave {w.source} out"
        return not_used(w, why, mend)
    return not_used(w, why, f"compute {w.target} from what that gives, or leave {w.source} out of the sources")


def _of_a_parameter(b: Evidence, w: Words, function: str, parameter: str) -> Said:
    why = f": `{function}` never uses its argument {parameter}"
    return not_used(w, why, f"compute what `{function}` returns from {parameter}")


def _of_a_value_beside(b: Evidence, w: Words, derived: Line, turned: bool) -> Said:
    """Return the sentences about a source computed from what the target uses, or from the target itself (`turned`)."""
    if turned:
        why = f": {cited(derived)} computed {w.source} from {w.target}"
        return not_used(w, why, f"ask the other way round: `{w.tape}.gradient({w.source}, {w.target})`")
    why = f", which {cited(derived)} computed beside it: what {w.target} was computed from is another value"
    mend = f"compute {w.source} first, and {w.target} from it; or take as the source what {w.target} was computed from"
    return not_used(w, why, mend)


def _of_other_variables(b: Evidence, w: Words, holder: str | None, read: Sequence[Any], alone: str | None) -> Said:
    """Return the sentences about a target from variables that a `holder` has, or that are `read`.

    `alone` is the source's object, which was not called.
    """
    why = f": it was computed from the variables of `{holder}`" if holder else ""
    if alone:
        mend = f"call `{alone}` under the tape and compute {w.target} from what it gives, or leave it out of the sources"
        return not_used(w, f"{why}, and nothing of `{alone}` ran under the tape", mend)
    if read:
        why = why or f": it was computed from {' and '.join(map(w.name_of, read))}"
        return not_used(w, why, f"compute {w.target} from {w.source}, or take as the source what it was computed from")
    return not_used(w, why, f"take the variables of `{holder}` as sources, or leave {w.source} out" if holder else None)


# -- finders


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
            return Unused(text.line_at(code, function.lineno), tell=partial(_of_a_late_look_up, name=name))
    return None


@of_no_way(80)
def _forgotten(case: Apart) -> Evidence | None:
    return Unknown(text.NO_LINE) if case.view.history.forgot(case.used) else None


@of_no_way(90)
def _linear(case: Apart) -> Evidence | None:
    history = case.view.history
    asked = linear(history, case.source, history.since_state(case.targets))
    return None if asked is None else Unused(case.made, tell=partial(_of_a_linear_function, asked=asked))


def linear(history: History, source: Source, used: dict[Name, None]) -> Line | None:
    """Return the gradient call with this source whose result the target uses; the target does not depend on the source."""
    key = source.names[0] if source.number is None else source.number
    for call in reversed(history.calls):
        if key in call.sources and any(call.start <= name < call.stop for name in used if len(name) == 2):
            return call.line
    return None


@of_no_way(100)
def _computed_again(case: Apart) -> Evidence | None:
    """Find a line that computed the value of the source, a tensor, again for the target."""
    source, used, history, steps = case.source, case.used, case.view.history, case.view.history.steps
    if source.variable is not None:
        return None
    made = [steps[name] for name in source.names if name in steps]
    for alike in (False, True):
        numbers = _numbered(history, [*source.names, *used], alike)
        own = {numbers[step.name] for step in made}
        again = [steps[name] for name in used if numbers[name] in own and steps[name].op not in COPIES | {None}]
        again = [step for step in again if any(name not in steps for name in history.before([step.name]))]
        if again:  # values made of constants alone are all alike
            line = min(again, key=lambda step: step.at).line
            inner, outer = [_functional(each, case.frame) for each in (made[0].line, line)]
            models = () if inner is None or outer is None else (inner, outer)
            if not alike or (models and models[0].given == models[1].given):  # each call turns an array into a new constant
                return Unused(case.made, tell=partial(_of_a_second_computation, again=line, models=models))
    return None


def _numbered(history: History, names: list[Name], alike: bool) -> dict[Name, int]:
    """Number the values so that equal ops on equal values share a number. With `alike`, constants of one shape do, too."""
    numbers: dict[Any, int] = {}
    found: dict[Name, int] = {}
    stack = list(names)
    while stack:
        name = stack[-1]
        step = history.steps.get(name)
        leaf = step is None or (step.op is None and len(step.inputs) != 1)  # for a branch it is unknown which value was taken
        waiting = [] if step is None or leaf else [i for i in step.inputs if i not in found]
        if waiting and name not in found:
            stack += waiting
            continue
        stack.pop()
        if name in found:
            continue
        inputs = [] if step is None or leaf else [found[i] for i in step.inputs]
        same = step is not None and len(inputs) == 1 and step.op in COPIES | {None}
        key = (step.op, step.attrs, *inputs) if step is not None and not leaf else name
        if alike and step is None and name not in history.variables:
            key = "constant", history.aval(name)
        found[name] = inputs[0] if same else numbers.setdefault(key, len(numbers))
    return found


def _functional(line: Line, frame: FrameType | None) -> Called | None:
    """Return the call of a Keras model in a line; in `score = model(x)[:, 1]` the result is named `output`."""
    called, given = text.stored_name(line), text.statement(line)
    call = given.value if isinstance(given, ast.Assign) else None
    if isinstance(call, ast.Subscript):
        call, called = call.value, "output"
    if called is None or frame is None or not isinstance(call, ast.Call) or not call.args:
        return None
    name = ast.unparse(call.func)
    model: Any = frame.f_locals.get(name, frame.f_globals.get(name))
    if not all(hasattr(model, attribute) for attribute in ("inputs", "outputs", "layers")) or len(model.outputs or ()) != 1:
        return None
    output = f"{name}.output" if hasattr(model, "output") else f"{name}.outputs[0]"  # some models lack `output`
    keras = "keras" if "keras" in frame.f_globals else "tf.keras"
    return Called(called, name, output, ast.unparse(call.args[0]), keras)


@of_no_way(110)
def _computed_beside(case: Apart) -> Evidence | None:
    """Find a source, a tensor, that was computed from values that the target uses directly."""
    view, source, history = case.view, case.source, case.view.history
    if source.variable is not None or (step := history.steps.get(source.names[0])) is None or step.op is None:
        return None
    before = history.before(source.names)
    shared = [name for name in before if name in case.used and name not in source.names]
    if not any(name in view.active() or history.line_of(name)[0] is not None for name in shared):
        return None
    turned = not before.keys().isdisjoint(case.targets)
    return Unused(case.made, tell=partial(_of_a_value_beside, derived=step.line, turned=turned))


@of_no_way(120)
def _unread(case: Apart) -> Evidence | None:
    unread = text.unread(case.made)
    if unread is None:
        return None
    return Unused(case.made, tell=partial(_of_a_parameter, function=unread[0], parameter=unread[1]))


@of_no_way(130)
def _goes_no_further(case: Apart) -> Evidence | None:
    end = case.end if case.source.variable is not None else dead_end(case.view, case.source, case.used)
    if end is None:
        return None
    history = case.view.history
    ends = [name for name in history.after(case.source.names) if history.line_of(name) == end]
    asked = {target for call in history.calls for target in call.targets}.intersection(ends)
    loss = not asked and any(getattr(history.aval(name), "shape", None) == () for name in ends)
    return Unused(case.made, tell=partial(_of_a_dead_end, end=end, loss=loss))


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
    view, source, numbers = case.view, case.source, case.view.history.read_variables(case.targets)
    holder = alone = None
    if numbers and in_an_object(source.variable, case.frame):
        holder = callable_with(case, lambda held: numbers <= held and source.number not in held)
    if source.number is not None and not uses_under_tape(view, source.names):
        alone = callable_with(case, lambda held: source.number in held and not numbers & held)
    read = [journal.variables.get(number) for number in sorted(numbers)]
    few = source.variable is not None and len(read) <= FEW and not numbers & asked_with(view, source)
    if not few or any(v is None or in_an_object(v, case.frame) for v in read):
        read = []
    return Unused(case.made, tell=partial(_of_other_variables, holder=holder, read=read, alone=alone))
