"""The codes of another object in place of the source's: a copy, a replaced layer, a cloned model."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape._src.core.programs import journal
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.explain import source as text
from gradtape._src.explain.codes.instead import WrongObject, asked_with
from gradtape._src.explain.evidence import Evidence, Said, of_no_way
from gradtape._src.explain.history import COPIES, History, Name, Step
from gradtape._src.explain.holders import holders, in_an_object, numbers_in, objects, scopes
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import View

READ_BACK = re.compile(r"\b(?:load\w*|restore\w*|read)\(")


class Copied(WrongObject):
    """The source is a copy of a variable that the target uses."""

    def said(self, w: Words) -> Said:
        cause = f"{w.source} is a copy, made in {self.written}; {w.target} was computed from the original"
        return Said(cause, f"compute {w.target} from {w.source}, or pass the original")


class Fresh(WrongObject):
    """The block of the tape created a new variable."""

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} made a new variable in the tape, and {w.target} was computed from that",
            "make the variable, or the layer that holds it, once and before the tape",
        )


class Later(WrongObject):
    """The source was created after the target was computed."""

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} made the variable {w.source} after {w.target} was computed",
            f"make it, or the layer that holds it, before, and compute {w.target} from it",
        )


class ReadBack(WrongObject):
    """The target uses a variable that was filled from a file."""

    variable: Any

    def said(self, w: Words) -> Said:
        read = w.name_of(self.variable)
        return Said(
            f"{w.target} was computed from {read}, which {self.written} filled from a file, and not from {w.source}",
            f"pass {read}, or compute {w.target} from {w.source}",
        )


class Stood(WrongObject):
    """The source replaced another variable in an `entry` of a list or dict."""

    entry: str | None

    def said(self, w: Words) -> Said:
        return Said(
            f"{self.written} put another variable in the place of the one that {w.target} was computed from, as a tf.function "
            "does that was traced before",
            f"keep the variable and give it the new value, `{self.entry}.assign(…)`; or make the function after it",
        )


class Another(WrongObject):
    """The target uses the variable `name`. It belongs to a `holder`, or to the `default` of a function's parameter."""

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


@of_no_way(14)
def _the_original(case: Apart) -> Evidence | None:
    """Find a target that uses the original of the source."""
    steps = case.view.history.steps
    for name in case.source.names if case.end is None else ():
        step = steps.get(name)
        while step is not None and (step.op in COPIES or step.how == "variable"):
            if any(i in case.used for i in step.inputs):
                return Copied(step.line, step.how, step)
            step = steps.get(step.inputs[0])
    return None


@of_no_way(16)
def _made_under_the_tape(case: Apart) -> Evidence | None:
    """Find a target that uses a variable created under its tape."""
    view, steps, variable = case.view, case.view.history.steps, case.source.variable
    if variable is None or case.end is not None:
        return None
    if any(_made_in_tape(view, steps[name]) for name in case.source.names if name in steps):
        return None
    numbers = asked_with(view, case.source)
    sources = {name for number in numbers for _, name in view.history.held.get(number, ())}
    for step in [steps[name] for name in case.used if name in steps and name not in sources]:
        alike = view.history.aval(step.name) is variable._tensor.node.aval
        if alike and _made_in_tape(view, step) and not _kept(view, step, case.frame):
            return Fresh(step.line, None, step)
    return None


@of_no_way(20)
def _another(case: Apart) -> Evidence | None:
    """Find a target that uses another variable with the same purpose."""
    view, variable, used, frame = case.view, case.source.variable, case.used, case.frame
    if variable is None or case.end is not None:
        return None
    history, asked = view.history, asked_with(view, case.source)
    numbers = history.used_variables(used) - asked - {variable._uid}
    others = [other for number in sorted(numbers) if (other := journal.variables.get(number)) is not None]
    twin = _twin(variable, others)
    replaced = not in_an_object(variable, frame)
    if twin is None and replaced:
        found = [other for other in others if _same_place(other, variable)]
        found += [other for other in others if _alike(other, variable) and in_an_object(other, frame)]
        twin = next(iter(found), None)
    if twin is None:
        read = next(((other, line) for other in others if (line := _read_back(history, other, variable))), None)
        if read is not None:
            return ReadBack(read[1], variable=read[0])
    if twin is None:
        return _stood_there(variable, others) or _made_later(history, variable, used)
    put = _put(twin, frame) if replaced else None
    holder, named = _named(twin, variable, frame, 2 if replaced else 1)
    if put is None and twin._made == variable._made:  # one line of code made both variables
        put = named
    if put is None and holder is None and twin._made == variable._made:  # one function made both objects
        only = [h.path for h in objects(frame, 1, twin._uid) if "." in h.path and variable._uid not in h.numbers]
        holder, put = next(iter(only), None), _first_use(view, twin)
    kept = _default(twin, frame) if holder is None else None
    if kept is not None:
        line = text.line_at(kept.__code__, kept.__code__.co_firstlineno)
        return Another(line, name=twin.name, default=_parameter(kept, twin))
    made = max(twin, variable, key=lambda v: v._uid)._made if put is None else put
    return Another(made, name=twin.name, holder=holder)


def _default(variable: Variable, frame: FrameType | None) -> FunctionType | None:
    """Return the user's named function that has a default which holds a variable."""
    functions = [f for names, _ in scopes(frame) for f in list(names.values()) if isinstance(f, FunctionType)]
    return next((f for f in functions if any(variable._uid in numbers_in(part) for part in f.__defaults__ or ())), None)


def _parameter(function: FunctionType, variable: Variable) -> tuple[str, str]:
    """Return the name of a function, and of its parameter whose default holds a variable."""
    defaults = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount][-len(defaults) :]
    held = zip(names, defaults, strict=True)
    return function.__name__, next(name for name, part in held if variable._uid in numbers_in(part))


def _first_use(view: View, variable: Variable) -> Line | None:
    """Return the first line under the tape that computes with a variable."""
    names = [name for _, name in view.history.held.get(variable._uid, ())]
    steps = [step for name in names for step in view.history.users.get(name, ()) if view.sees(step.at)]
    first = min(steps, key=lambda step: step.at, default=None)
    return None if first is None or first.line[0] is None else first.line


def _made_later(history: History, variable: Variable, used: dict[Name, None]) -> WrongObject | None:
    """Return the break of a variable that was created after all ops of the target."""
    last = max([history.steps[name].at for name in used if name in history.steps], default=None)
    if last is None or variable._made[0] is None or variable._born <= last:
        return None
    return Later(variable._made)


def computed_again(case: Apart) -> tuple[Line, Sequence[Called]] | None:
    """Return the line that computed the source's value again for the target, and the two models that did so; else None."""
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
            step = min(again, key=lambda step: step.at)
            inner, outer = [_functional(line, case.frame) for line in (made[0].line, step.line)]
            models = () if inner is None or outer is None else (inner, outer)
            if not alike or (models and models[0].given == models[1].given):  # each call turns an array into a new constant
                return step.line, models
    return None


def computed_from(case: Apart) -> Line | None:
    """Return the line that computed the source, a tensor, from values that the target uses directly."""
    view, source = case.view, case.source
    if source.variable is not None or (step := view.history.steps.get(source.names[0])) is None or step.op is None:
        return None
    before = view.history.before(source.names)
    shared = [name for name in before if name in case.used and name not in source.names]
    return step.line if any(name in view.active() or view.history.line_of(name)[0] is not None for name in shared) else None


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


class Called(NamedTuple):
    """A line that calls a functional or sequential Keras model, `y = model(x)`: its names, and the name of the Keras module."""

    result: str
    model: str
    output: str  # the model's output, such as `model.output`
    given: str
    keras: str


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


def _twin(variable: Variable, others: list[Variable]) -> Variable | None:
    """Return the variable with the same shape and name, or else the only one made at the same line; None if there is none."""
    same_name = [o for o in others if o._tensor.node.aval is variable._tensor.node.aval and _same_name(o.name, variable.name)]
    same_line = [o for o in others if _alike(o, variable)]
    if same_name or len(same_line) == 1:  # several variables of one line are a list
        return (same_name or same_line)[0]
    return None


def _alike(a: Variable, b: Variable) -> bool:
    """Return whether two variables of one shape were made at the same line, in the same role within their layer."""
    alike = a._tensor.node.aval is b._tensor.node.aval and a._made[0] is not None and a._made == b._made
    return alike and (text.target(a._made) is not None or _role(a) == _role(b))


def _role(variable: Variable) -> str:
    return variable.name.rpartition("/")[2]


def _read_back(history: History, other: Variable, variable: Variable) -> Line | None:
    """Return the line that made or filled the other variable from a file, if both have the same shape."""
    lines = [other._made, *[history.line_of(name) for name in history.holdings(other._uid)]]
    same = other._tensor.node.aval is variable._tensor.node.aval
    return next((line for line in lines if same and READ_BACK.search(text.text(line) or "")), None)


def _stood_there(variable: Variable, others: list[Variable]) -> WrongObject | None:
    """Return the statement that replaced a list's or dict's entry, if the target still uses the replaced variable."""
    place = text.target(variable._made)
    root = re.fullmatch(r"([\w.]+)\[[^\]]*\]", place or "")
    if root is None:
        return None
    for other in others:
        before = re.split(r"\[", text.target(other._made) or "")[0]
        same = other._tensor.node.aval is variable._tensor.node.aval and other._uid < variable._uid
        if same and before == root[1]:
            return Stood(variable._made, entry=place)
    return None


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
        return place.rpartition(".")[2] == other.rpartition(".")[2] and a._tensor.node.aval is b._tensor.node.aval
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


def _kept(view: View, step: Step, frame: FrameType | None) -> bool:
    """Return whether an object still holds the variable that a step made, such as a layer built at its first call."""
    return in_an_object(view.history.held_by(step.name), frame)


def _made_in_tape(view: View, step: Step) -> bool:
    """Return whether a step made a variable while the tape was open."""
    return step.how == "variable" and view.tape is not None and step.name[1] > view.tape.number and view.opened(step.at)
