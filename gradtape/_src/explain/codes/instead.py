"""The code of a target that was computed from another object or value than the source: a copy, a clone, a replaced layer."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.programs.op import Op
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.explain import rewritten, source as text
from gradtape._src.explain.callers import scope_of, statements_under_tape
from gradtape._src.explain.evidence import Evidence, Said, cited, of_no_way, of_places, of_steps
from gradtape._src.explain.history import COPIES, History, Name, Step
from gradtape._src.explain.holders import LISTS, Held, holders, in_an_object, numbers_in, objects, scopes
from gradtape._src.explain.syntax import looked_up_late, named_in, within
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import Source, View

DEEPEST = 2  # attributes and entries in the path to an object
READ_BACK = re.compile(r"\b(?:load\w*|restore\w*|read)\(")
Tell = Callable[[Evidence, Words], Said]  # returns the sentences of a break


class WrongObject(Evidence):
    code, named = "wrong_object", "where that was called, made or put"
    when = (
        "a copy, a stale read or another variable; such as that of an object of the same class that was called in its place (a "
        "target network, a clone), of a layer that was replaced, or one made anew in the tape or the call"
    )
    tell: Tell

    def said(self, w: Words) -> Said:
        return self.tell(self, w)


class Stale(WrongObject):
    """The source was read before the tape opened."""


# -- sentences


def _of_a_stale_read(b: Evidence, w: Words) -> Said:
    cause = f"{b.written} took {w.source}'s value before the tape opened; {w.target} was computed from that"
    return Said(cause, f"inside the tape use {w.source} itself, or move {b.written} into its `with` block")


def _of_a_copy(b: Evidence, w: Words) -> Said:
    cause = f"{b.written} made a copy of {w.source}, and {w.target} was computed from the copy"
    return Said(cause, "pass the copy, or use the original")


def _of_the_original(b: Evidence, w: Words) -> Said:
    cause = f"{w.source} is a copy, made in {b.written}; {w.target} was computed from the original"
    return Said(cause, f"compute {w.target} from {w.source}, or pass the original")


def _of_its_array(b: Evidence, w: Words, array: ast.Name, made: Line) -> Said:
    cause = f"{b.written} takes {array.id}, of which {cited(made)} made {w.source}, and not {w.source}"
    return Said(cause, f"give it {w.source} in the place of {array.id}: `{w.code}`", text.span(array))


def _of_a_source_made_in_the_call(b: Evidence, w: Words) -> Said:
    cause = f"{b.written} makes the source anew, after {w.target} was computed, which came from another value"
    return Said(cause, "give it a name, compute with it under the tape (`watch` it, if it is no Variable), and pass that name")


def _of_one_made_in_the_tape(b: Evidence, w: Words) -> Said:
    cause = f"{b.written} made a new variable in the tape, and {w.target} was computed from that"
    return Said(cause, "make the variable, or the layer that holds it, once and before the tape")


def _of_one_made_later(b: Evidence, w: Words) -> Said:
    cause = f"{b.written} made the variable {w.source} after {w.target} was computed"
    return Said(cause, f"make it, or the layer that holds it, before, and compute {w.target} from it")


def _of_one_from_a_file(b: Evidence, w: Words, variable: Variable) -> Said:
    read = w.name_of(variable)
    cause = f"{w.target} was computed from {read}, which {b.written} filled from a file, and not from {w.source}"
    return Said(cause, f"pass {read}, or compute {w.target} from {w.source}")


def _of_an_entry(b: Evidence, w: Words, entry: str) -> Said:
    cause = f"{b.written} put another variable in the place of the one that {w.target} was computed from, as a tf.function does "
    mend = f"keep the variable and give it the new value, `{entry}.assign(…)`; or make the function after it"
    return Said(cause + "that was traced before", mend)


def _of_a_default(b: Evidence, w: Words, name: str, function: str, parameter: str) -> Said:
    cause = f"{w.target} was computed from {name}, which the default `{parameter}` of `{function}` holds since that was made"
    return Said(f"{cause}, and not from {w.source}", f"pass `{parameter}` when `{function}` is called")


def _of_another(b: Evidence, w: Words, name: str, holder: str | None) -> Said:
    if holder is None:
        cause = f"{w.target} was computed from another variable, {name}, than the one that was passed"
        return Said(cause, "pass the variable that is used now, for example after a layer was built again")
    cause = f"{w.target} was computed from another variable than {w.source}: from {name}, which `{holder}` holds"
    return Said(cause, f"pass the variables of `{holder}`, or compute {w.target} from those that were passed")


def _of_an_object(b: Evidence, w: Words, own: str, holder: str, lines: Sequence[int | None]) -> Said:
    """Return the sentences about a `holder` that was called, also in further lines, instead of `own`, which holds the source."""
    more = f", and in line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}" if lines else ""
    cause = f"{w.target} was computed from `{holder}` in {b.written}{more}, and nothing of `{own}`, which holds {w.source}, ran "
    cause += "under the tape"
    at = text.number(b.line)
    late = [name for f, name in looked_up_late(text.tree(text.file(b.line)), {holder.partition("[")[0]}) if f.lineno == at]
    if late:
        return Said(f"{cause}: the function looks up {late[0]} when it is called", *rewritten.bound_early(b.line, late[0]))
    return Said(cause, f"call `{own}` there, in the place of `{holder}`; or pass the variables of `{holder}`")


# -- objects, and the variables that they hold


def called_instead(case: Apart) -> Evidence | None:
    """Return the break of a source in an unused object, if the tape used another object with the same kinds of variables.

    An example is a target network called instead of the online network. An object that is itself trained counts only if it was
    called more than once.
    """
    view, source, numbers = case.view, case.source, case.view.history.read_variables(case.targets)
    if source.number is None or not numbers or uses_under_tape(view, source.names):
        return None
    known, asked = _objects(case.frame), asked_with(view, source)
    unused = [held for held in known if source.number in held.numbers and not numbers & set(held.numbers)]
    for own, other in product(unused, [held for held in known if source.number not in held.numbers]):
        if type(other.object) is not type(own.object) or _kinds(other.numbers) != _kinds(own.numbers):
            continue
        at = other.numbers[own.numbers.index(source.number)]
        uses = _computing(view, at)
        if at in numbers and (at not in asked or len(uses) > 1):
            lines = _calls_of(view, source, other) or [step.line for step in uses[-1:]]
            others = [text.number(line) for line in lines[:-1]]
            return WrongObject(lines[-1], tell=partial(_of_an_object, own=own.path, holder=other.path, lines=others))
    return None


def callable_with(case: Apart, holds: Callable[[set[int]], bool]) -> str | None:
    """Return the path of the first callable object for whose variables `holds` is true; larger objects come first."""
    found = [held for held in _objects(case.frame) if holds(set(held.numbers))]
    return next((held.path for held in found if callable(held.object)), None)


def uses_under_tape(view: View, names: Iterable[Name]) -> list[Step]:
    """Return the steps under the tape that take one of these values, in order."""
    steps = [step for name in names for step in view.history.users.get(name, ()) if view.sees(step.at)]
    return sorted(steps, key=lambda step: step.at)


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


def _computing(view: View, number: int) -> list[Step]:
    """Return the steps under the tape that compute with a variable, in order."""
    return [step for step in uses_under_tape(view, view.history.holdings(number)) if step.op not in COPIES]


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
    made = op is None and step.how == "variable" and view.is_variable(before)
    return WrongObject(step.line, None, step, tell=_of_a_copy) if made else None


@of_places(50)
def _read_before(view: View, before: Name, step: Step, outer: Step) -> Evidence | None:
    stale = step.op in COPIES and view.is_variable(before)
    return Stale(step.line, step.how, step, tell=_of_a_stale_read) if stale else None


@of_no_way(14)
def _the_original(case: Apart) -> Evidence | None:
    """Find a target that uses the original of the source."""
    steps = case.view.history.steps
    for name in case.source.names if case.end is None else ():
        step = steps.get(name)
        while step is not None and (step.op in COPIES or step.how == "variable"):
            if any(i in case.used for i in step.inputs):
                return WrongObject(step.line, step.how, step, tell=_of_the_original)
            step = steps.get(step.inputs[0])
    return None


@of_no_way(15)
def _what_it_was_made_of(case: Apart) -> Evidence | None:
    """Find a target that uses the array, under its name, of which the source was made."""
    history, own, made = case.view.history, case.source.names, text.statement(case.source.made)
    if case.end is not None or any(name in history.steps and history.steps[name].how != "variable" for name in own):
        return None
    given = named_in(made.value if isinstance(made, ast.Assign) else None) - {"tf", "np"}
    leaves = [name for name in history.lines if name in case.used and name not in history.steps]
    for line in [history.lines[name] for name in leaves if history.aval(own[0]) in (None, history.aval(name))]:
        found = [n for n in within(text.statement(line), ast.Name) if n.id in given and isinstance(n.ctx, ast.Load)]
        if len(found) == 1 and scope_of(case.source.made) in (scope_of(line), text.tree(text.file(line))):
            return WrongObject(line, tell=partial(_of_its_array, array=found[0], made=case.source.made))
    return None


@of_no_way(16)
def _made_under_the_tape(case: Apart) -> Evidence | None:
    """Find a target that uses a variable created under its tape, which no object keeps as it does a layer built there."""
    view, steps, variable = case.view, case.view.history.steps, case.source.variable
    if variable is None or case.end is not None:
        return None
    if any(_made_in_tape(view, steps[name]) for name in case.source.names if name in steps):
        return None
    numbers = asked_with(view, case.source)
    sources = {name for number in numbers for _, name in view.history.held.get(number, ())}
    for step in [steps[name] for name in case.used if name in steps and name not in sources]:
        alike = view.history.aval(step.name) is variable._tensor.node.aval
        if alike and _made_in_tape(view, step) and not in_an_object(view.history.held_by(step.name), case.frame):
            return WrongObject(step.line, None, step, tell=_of_one_made_in_the_tape)
    return None


def _made_in_tape(view: View, step: Step) -> bool:
    """Return whether a step made a variable while the tape was open."""
    return step.how == "variable" and view.tape is not None and step.name[1] > view.tape.number and view.opened(step.at)


@of_no_way(60)
def _made_anew(case: Apart) -> Evidence | None:
    """Find a tensor that is created in the statement of the gradient call."""
    view, source = case.view, case.source
    asked = [call.line for call in view.history.calls if source.number is None and source.names[0] in call.sources]
    if source.made[0] is None or not any(text.same_line(source.made, line) for line in asked):
        return None
    return WrongObject(source.made, tell=_of_a_source_made_in_the_call)


@of_no_way(20)
def _another(case: Apart) -> Evidence | None:
    """Find a target that uses another variable with the same purpose."""
    view, variable, frame = case.view, case.source.variable, case.frame
    if variable is None or case.end is not None:
        return None
    numbers = view.history.used_variables(case.used) - asked_with(view, case.source) - {variable._uid}
    others = [other for number in sorted(numbers) if (other := journal.variables.get(number)) is not None]
    twin = _twin(variable, others)
    replaced = not in_an_object(variable, frame)
    if twin is None and replaced:
        found = [other for other in others if _same_place(other, variable)]
        found += [other for other in others if _alike(other, variable) and in_an_object(other, frame)]
        twin = next(iter(found), None)
    if twin is None:
        same = [other for other in others if _same_aval(other, variable)]
        return _read_back(view.history, same) or _stood_there(variable, same) or _made_later(view.history, variable, case.used)
    put = _put(twin, frame) if replaced else None
    holder, named = _named(twin, variable, frame, 2 if replaced else 1)
    if put is None and twin._made == variable._made:  # one line of code made both variables
        put = named
    if put is None and holder is None and twin._made == variable._made:  # one function made both objects
        only = [h.path for h in objects(frame, 1, twin._uid) if "." in h.path and variable._uid not in h.numbers]
        first = next((step.line for step in _computing(view, twin._uid)), text.NO_LINE)
        holder, put = next(iter(only), None), None if first[0] is None else first
    if holder is None and (default := _default(twin, frame)) is not None:
        function, parameter = default
        line = text.line_at(function.__code__, function.__code__.co_firstlineno)
        return WrongObject(line, tell=partial(_of_a_default, name=twin.name, function=function.__name__, parameter=parameter))
    made = max(twin, variable, key=lambda v: v._uid)._made if put is None else put
    return WrongObject(made, tell=partial(_of_another, name=twin.name, holder=holder))


def _default(variable: Variable, frame: FrameType | None) -> tuple[FunctionType, str] | None:
    """Return the user's named function, and its parameter, whose default holds a variable."""
    functions = [f for names, _ in scopes(frame) for f in list(names.values()) if isinstance(f, FunctionType)]
    for function in functions:
        defaults = function.__defaults__ or ()
        names = function.__code__.co_varnames[: function.__code__.co_argcount][-len(defaults) :]
        for name, part in zip(names, defaults, strict=False):
            if variable._uid in numbers_in(part):
                return function, name
    return None


def _made_later(history: History, variable: Variable, used: dict[Name, None]) -> Evidence | None:
    """Return the break of a variable that was created after all ops of the target."""
    last = max([history.steps[name].at for name in used if name in history.steps], default=None)
    if last is None or variable._made[0] is None or variable._born <= last:
        return None
    return WrongObject(variable._made, tell=_of_one_made_later)


def _twin(variable: Variable, others: list[Variable]) -> Variable | None:
    """Return the variable with the same shape and name, or else the only one made at the same line; None if there is none."""
    same_name = [o for o in others if _same_aval(o, variable) and _same_name(o.name, variable.name)]
    same_line = [o for o in others if _alike(o, variable)]
    if same_name or len(same_line) == 1:  # several variables of one line are a list
        return (same_name or same_line)[0]
    return None


def _same_aval(a: Variable, b: Variable) -> bool:
    return a._tensor.node.aval is b._tensor.node.aval


def _alike(a: Variable, b: Variable) -> bool:
    """Return whether two variables of one shape were made at the same line, in the same role within their layer."""
    alike = _same_aval(a, b) and a._made[0] is not None and a._made == b._made
    return alike and (text.target(a._made) is not None or _role(a) == _role(b))


def _role(variable: Variable) -> str:
    return variable.name.rpartition("/")[2]


def _read_back(history: History, others: list[Variable]) -> Evidence | None:
    """Return the break of a target that uses one of the other variables, which was made or filled from a file."""
    for other in others:
        for line in [other._made, *[history.line_of(name) for name in history.holdings(other._uid)]]:
            if READ_BACK.search(text.text(line) or ""):
                return WrongObject(line, tell=partial(_of_one_from_a_file, variable=other))
    return None


def _stood_there(variable: Variable, others: list[Variable]) -> Evidence | None:
    """Return the statement that replaced a list's or dict's entry, if the target still uses the replaced variable."""
    place = text.target(variable._made) or ""
    root = re.fullmatch(r"([\w.]+)\[[^\]]*\]", place)
    before = [(text.target(other._made) or "").partition("[")[0] for other in others if other._uid < variable._uid]
    if root is None or root[1] not in before:
        return None
    return WrongObject(variable._made, tell=partial(_of_an_entry, entry=place))


def _same_name(a: str, b: str) -> bool:
    """Return whether two names are equal, apart from an outer scope: `dense/kernel` and `model/dense/kernel`."""
    short, long = sorted((a, b), key=len)
    return not short.startswith("Variable") and (short == long or ("/" in short and long.endswith("/" + short)))


def _same_place(a: Variable, b: Variable) -> bool:
    """Return whether two variables were made for the same attribute, the same name in a function, or by the same named call."""
    if a._made[0] is None or b._made[0] is None:
        return False
    if text.same_line(a._made, b._made):
        return a._made == b._made and _role(a) == _role(b) and not _role(a).startswith("Variable")
    place, other = text.target(a._made), text.target(b._made)
    if place is None or other is None:
        return False
    if "." in place and "." in other and _owner(a._made[0]) != _owner(b._made[0]):  # `net.w = …` replaces `self.w`
        return place.rpartition(".")[2] == other.rpartition(".")[2] and _same_aval(a, b)
    return place == other and ("." in place or a._made[0] is b._made[0])


def _owner(code: CodeType) -> tuple[str, str]:
    """Return the file and the class of a method."""
    return code.co_filename, code.co_qualname.rpartition(".")[0]


def _put(variable: Variable, frame: FrameType | None) -> Line | None:
    """Return the only statement, in the asking code or a method, that sets an attribute which holds the variable."""
    if frame is None:
        return None
    names = holders(variable, frame, set())
    attributes = {name[1:] for name in names if name.startswith(".")}
    codes = [frame.f_code]
    for holder in [frame.f_locals.get(name, frame.f_globals.get(name)) for name in sorted(names)]:
        methods = [f for f in vars(type(holder)).values() if isinstance(f, FunctionType)]
        codes += [f.__code__ for f in methods if f.__name__ not in ("__init__", "build", "setup")]
    found = [
        text.line_at(code, node.lineno)
        for code in dict.fromkeys(codes)
        for node in text.statements(code)
        if any(_is_held(target, attributes, names) for target in getattr(node, "targets", ()))
    ]
    return found[0] if len(found) == 1 else None


def _is_held(target: ast.expr, attributes: set[str], names: set[str]) -> bool:
    """Return whether a target is one of the attributes, an entry of one, or an entry of a list among the names."""
    if isinstance(target, ast.Subscript):
        return (isinstance(target.value, ast.Name) and target.value.id in names) or _is_held(target.value, attributes, names)
    return isinstance(target, ast.Attribute) and target.attr in attributes


def _named(twin: Variable, variable: Variable, frame: FrameType | None, times: int) -> tuple[str | None, Line | None]:
    """Return the name of an object that holds only the first variable, and the last statement that sets that name.

    The statement is None if the name was set fewer than `times` times.
    """
    names = {name for name in holders(twin, frame, {variable._uid}) if not name.startswith(".")}
    for code in text.codes_of(frame):
        made = [n for n in text.statements(code) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
        places = [(t.id, n.lineno) for n in made for t in n.targets if isinstance(t, ast.Name) and t.id in names]
        if places:
            called, last = places[-1]
            again = sum(name == called for name, _ in places) >= times
            return called, text.line_at(code, last) if again else None
    return None, None
