"""Another object in the place of the one that was asked for: a copy, a layer that was replaced, a clone of a model."""

from __future__ import annotations

import ast
from types import CodeType, FrameType

from gradtape._src.core import journal
from gradtape._src.core.journal import Line
from gradtape._src.core.variable import Variable
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import COPIES, Break, Source, View
from gradtape._src.explain.history import Name, Step
from gradtape._src.explain.holders import holders, in_an_object


def other_object(view: View, source: Source, used: dict[Name, None], frame: FrameType | None) -> Break | None:
    """Return the break where the target uses the original of the source, or another variable made for the same purpose."""
    history = view.history
    for name in source.names:
        step = history.steps.get(name)
        while step is not None and (step.op in COPIES or step.how == "variable"):
            if any(i in used for i in step.inputs):
                return Break("wrong_object", step.line, step.how, step, how="copied")
            step = history.steps.get(step.inputs[0])
    variable = source.variable
    if variable is None:
        return None
    asked = {key for call in history.calls if variable._uid in call.sources for key in call.sources}
    sources = {name for key in asked if isinstance(key, int) for _, name in history.held.get(key, ())}
    if not any(_made_in_tape(view, history.steps[name]) for name in source.names if name in history.steps):
        for step in [history.steps[name] for name in used if name in history.steps and name not in sources]:
            alike = history.aval(step.name) is variable._tensor.node.aval
            if alike and _made_in_tape(view, step) and not _kept(view, step, frame):
                return Break("wrong_object", step.line, None, step, how="fresh")
    numbers = history.used_variables(used) - asked - {variable._uid}
    others = [other for number in sorted(numbers) if (other := journal.variables.get(number)) is not None]
    twin = _twin(variable, others)
    replaced = not in_an_object(variable, frame)
    if twin is None and replaced:
        twin = next((other for other in others if _same_place(other, variable)), None)
    if twin is None:
        return None
    put = _put(twin, frame) if replaced else None
    made = max(twin, variable, key=lambda v: v._uid)._made if put is None else put
    return Break("wrong_object", made, None, None, how="another", name=twin.name)


def _twin(variable: Variable, others: list[Variable]) -> Variable | None:
    """Find the one of the same shape with the same name, or the only one that was made at the same line."""
    alike = [other for other in others if other._tensor.node.aval is variable._tensor.node.aval]
    same_name = [o for o in alike if _same_name(o.name, variable.name)]
    same_line = [o for o in alike if o._made[0] is not None and o._made == variable._made]
    if same_name or len(same_line) == 1:  # several that were made at one line are a list of variables
        return (same_name or same_line)[0]
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
        role = a.name.rsplit("/", 1)[-1]
        return a._made == b._made and role == b.name.rsplit("/", 1)[-1] and not role.startswith("Variable")
    place = text.target(a._made)
    if place is None or place != text.target(b._made):
        return False
    return _owner(a._made[0]) == _owner(b._made[0]) if "." in place else a._made[0] is b._made[0]


def _owner(code: CodeType) -> tuple[str, str]:
    """Return the file of a method, and the class in which it stands."""
    return code.co_filename, code.co_qualname.rpartition(".")[0]


def _put(variable: Variable, frame: FrameType | None) -> Line | None:
    """Return the only statement, of the code that asks, that sets an attribute in which the variable is held."""
    attributes = {name[1:] for name in holders(variable, frame, set()) if name.startswith(".")}
    if frame is None:
        return None
    found = [
        node
        for node in text.statements(frame.f_code)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Attribute) and t.attr in attributes for t in node.targets)
    ]
    return text.line_at(frame.f_code, found[0].lineno) if len(found) == 1 else None


def _kept(view: View, step: Step, frame: FrameType | None) -> bool:
    """Return whether an object still holds the variable that a step made, such as a layer that was built at its first call."""
    numbers = [number for number, holdings in view.history.held.items() if any(name == step.name for _, name in holdings)]
    return any(in_an_object(journal.variables.get(number), frame) for number in numbers)


def _made_in_tape(view: View, step: Step) -> bool:
    """Return whether a step made a variable while the tape recorded."""
    return step.how == "variable" and view.tape is not None and step.name[1] > view.tape.number and view.sees(step.at)
