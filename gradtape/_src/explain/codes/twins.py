"""Another object in the place of the one that was asked for: a copy, a layer that was replaced, a clone of a model."""

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
from gradtape._src.explain.codes.instead import asked_with
from gradtape._src.explain.codes.objects import WrongObject
from gradtape._src.explain.evidence import Evidence, Said, of_no_way
from gradtape._src.explain.history import COPIES, History, Name, Step
from gradtape._src.explain.holders import holders, in_an_object, numbers_in, objects, scopes
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import Source, View

READ_BACK = re.compile(r"\b(?:load\w*|restore\w*|read)\(")


class Copied(WrongObject):
    """The source is a copy."""

    def said(self, w: Words) -> Said:
        cause = f"{w.source} is a copy, made in {self.written}; {w.target} was computed from the original"
        return Said(cause, "pass the original")


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


@of_no_way(14)
def _the_original(case: Apart) -> Evidence | None:
    """Return the break where the target uses the original of the source."""
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
    """Return the break where the target uses a variable that its tape made."""
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
    """Return the break where the target uses another variable that was made for the same purpose."""
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
    if put is None and twin._made == variable._made:  # by one line of code, which both of them ran
        put = named
    if put is None and holder is None and twin._made == variable._made:  # two objects that one function made, held somewhere
        holder, put = _attribute_of(twin, variable, frame), _first_use(view, twin)
    kept = _default(twin, frame) if holder is None else None
    if kept is not None:
        line = text.line_at(kept.__code__, kept.__code__.co_firstlineno)
        return Another(line, name=twin.name, default=_parameter(kept, twin))
    made = max(twin, variable, key=lambda v: v._uid)._made if put is None else put
    return Another(made, name=twin.name, holder=holder)


def _default(variable: Variable, frame: FrameType | None) -> FunctionType | None:
    """Return the user's function, one with a name, a default of which holds a variable."""
    functions = [f for names, _ in scopes(frame) for f in list(names.values()) if isinstance(f, FunctionType)]
    return next((f for f in functions if any(variable._uid in numbers_in(part) for part in f.__defaults__ or ())), None)


def _parameter(function: FunctionType, variable: Variable) -> tuple[str, str]:
    """Return the names of a function and of its parameter whose default holds a variable."""
    defaults = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount][-len(defaults) :]
    held = zip(names, defaults, strict=True)
    return function.__name__, next(name for name, part in held if variable._uid in numbers_in(part))


def _attribute_of(twin: Variable, variable: Variable, frame: FrameType | None) -> str | None:
    """Return `self.target` for the attribute of an object, a local of the code that asks, that holds the one variable only."""
    only = [h.path for h in objects(frame, 1, twin._uid) if "." in h.path and variable._uid not in h.numbers]
    return only[0] if only else None


def _first_use(view: View, variable: Variable) -> Line | None:
    """Return the first line under the tape that computes with a variable."""
    names = [name for _, name in view.history.held.get(variable._uid, ())]
    steps = [step for name in names for step in view.history.users.get(name, ()) if view.sees(step.at)]
    first = min(steps, key=lambda step: step.at, default=None)
    return None if first is None or first.line[0] is None else first.line


def _made_later(history: History, variable: Variable, used: dict[Name, None]) -> WrongObject | None:
    """Return the break of a variable that was made after all that the target was computed from, in the place of another."""
    last = max([history.steps[name].at for name in used if name in history.steps], default=None)
    if last is None or variable._made[0] is None or variable._born <= last:
        return None
    return Later(variable._made)


def computed_again(
    view: View, source: Source, used: dict[Name, None], frame: FrameType | None
) -> tuple[Line, Sequence[Called]] | None:
    """Return the line at which the source's value was computed a second time, for the target, and the two models that did it."""
    if source.variable is not None:
        return None
    steps = view.history.steps
    made = [steps[name] for name in source.names if name in steps]
    for alike in (False, True):
        numbers = _numbered(view.history, [*source.names, *used], alike)
        own = {numbers[step.name] for step in made}
        again = [steps[name] for name in used if numbers[name] in own and steps[name].op not in COPIES | {None}]
        again = [step for step in again if any(name not in steps for name in view.history.before([step.name]))]
        if again:  # and not of constants alone, which are alike
            step = min(again, key=lambda step: step.at)
            inner, outer = [_functional(line, frame) for line in (made[0].line, step.line)]
            models = () if inner is None or outer is None else (inner, outer)
            if not alike or (
                models and models[0].given == models[1].given
            ):  # an array becomes a constant in each call that takes it
                return step.line, models
    return None


def computed_from(view: View, source: Source, used: dict[Name, None]) -> Line | None:
    """Return the line that computed a source, a tensor, from values that the target was computed from in its place."""
    if source.variable is not None or (step := view.history.steps.get(source.names[0])) is None or step.op is None:
        return None
    before = view.history.before(source.names)
    shared = [name for name in before if name in used and name not in source.names]
    return step.line if any(view.watches(name) or view.history.line_of(name)[0] is not None for name in shared) else None


def _numbered(history: History, names: list[Name], alike: bool) -> dict[Name, int]:
    """Number values: the same op of the same values has one number. So have, if `alike` counts, constants of one shape."""
    numbers: dict[Any, int] = {}
    found: dict[Name, int] = {}
    stack = list(names)
    while stack:
        name = stack[-1]
        step = history.steps.get(name)
        leaf = step is None or (step.op is None and len(step.inputs) != 1)  # of several ways it is not known which one ran
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
    """A line that calls a functional or sequential model of Keras, `y = model(x)`: its names, and what it calls Keras."""

    result: str
    model: str
    output: str  # of the model, as `model.output`
    given: str
    keras: str


def _functional(line: Line, frame: FrameType | None) -> Called | None:
    """Return what a line calls that calls a model of Keras; of `score = model(x)[:, 1]` the result is `output`."""
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
    output = f"{name}.output" if hasattr(model, "output") else f"{name}.outputs[0]"  # which a Sequential has alone
    keras = "keras" if "keras" in frame.f_globals else "tf.keras"
    return Called(called, name, output, ast.unparse(call.args[0]), keras)


def _twin(variable: Variable, others: list[Variable]) -> Variable | None:
    """Find the one of the same shape with the same name, or the only one that was made at the same line."""
    same_name = [o for o in others if o._tensor.node.aval is variable._tensor.node.aval and _same_name(o.name, variable.name)]
    same_line = [o for o in others if _alike(o, variable)]
    if same_name or len(same_line) == 1:  # several that were made at one line are a list of variables
        return (same_name or same_line)[0]
    return None


def _alike(a: Variable, b: Variable) -> bool:
    """Return whether two variables of one shape were made at the same line, by a layer with the same name in it."""
    alike = a._tensor.node.aval is b._tensor.node.aval and a._made[0] is not None and a._made == b._made
    return alike and (text.target(a._made) is not None or _role(a) == _role(b))


def _role(variable: Variable) -> str:
    """Return the name of a variable in its layer, "kernel"."""
    return variable.name.rpartition("/")[2]


def _read_back(history: History, other: Variable, variable: Variable) -> Line | None:
    """Return the line at which a variable with the shape of the other one was made or filled from a file."""
    lines = [other._made, *[history.line_of(name) for name in history.holdings(other._uid)]]
    same = other._tensor.node.aval is variable._tensor.node.aval
    return next((line for line in lines if same and READ_BACK.search(text.text(line) or "")), None)


def _stood_there(variable: Variable, others: list[Variable]) -> WrongObject | None:
    """Return the statement that put a new variable in the place of one that is used still, as by a function traced before."""
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
    """Return whether two names are the same, maybe in a scope more: `dense/kernel` and `model/dense/kernel`."""
    short, long = sorted((a, b), key=len)
    return not short.startswith("Variable") and (short == long or ("/" in short and long.endswith("/" + short)))


def _same_place(a: Variable, b: Variable) -> bool:
    """Return whether two variables were made for one attribute of a class, one name of a function, or by one call with one
    name.
    """
    if a._made[0] is None or b._made[0] is None:
        return False
    if text.same_line(a._made, b._made):
        return a._made == b._made and _role(a) == _role(b) and not _role(a).startswith("Variable")
    place, other = text.target(a._made), text.target(b._made)
    if place is None or other is None:
        return False
    if "." in place and "." in other and _owner(a._made[0]) != _owner(b._made[0]):  # `net.w = …` in the place of `self.w`
        return place.rpartition(".")[2] == other.rpartition(".")[2] and a._tensor.node.aval is b._tensor.node.aval
    return place == other and ("." in place or a._made[0] is b._made[0])


def _owner(code: CodeType) -> tuple[str, str]:
    """Return the file of a method, and the class in which it stands."""
    return code.co_filename, code.co_qualname.rpartition(".")[0]


def _put(variable: Variable, frame: FrameType | None) -> Line | None:
    """Return the only statement, of the code that asks or of a method, that sets an attribute in which the variable is held."""
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
    """Return whether a statement sets one of the attributes, or an entry of one or of a list with one of the names."""
    if isinstance(target, ast.Subscript):
        return (isinstance(target.value, ast.Name) and target.value.id in names) or _is_held(target.value, attributes, names)
    return isinstance(target, ast.Attribute) and target.attr in attributes


def _named(twin: Variable, variable: Variable, frame: FrameType | None, times: int) -> tuple[str | None, Line | None]:
    """Return the name of an object that holds the one variable and not the other, and the last statement that sets the name.

    None for the statement if there are fewer than `times` of them.
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
    """Return whether an object still holds the variable that a step made, such as a layer that was built at its first call."""
    numbers = [number for number, holdings in view.history.held.items() if any(name == step.name for _, name in holdings)]
    return any(in_an_object(journal.variables.get(number), frame) for number in numbers)


def _made_in_tape(view: View, step: Step) -> bool:
    """Return whether a step made a variable while the tape recorded."""
    return step.how == "variable" and view.tape is not None and step.name[1] > view.tape.number and view.sees(step.at)
