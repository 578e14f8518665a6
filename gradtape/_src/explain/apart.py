"""Why no op leads from a source to a target at all: the value left the library, a branch did not run, another object was used."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from gradtape._src.core import journal
from gradtape._src.core.journal import Left, Line
from gradtape._src.explain import source as text
from gradtape._src.explain.breaks import COPIES, Break, Source, View
from gradtape._src.explain.history import History, Name, Step

WAYS_OUT = {"numpy", "__array__", "float", "int", "complex", "dlpack", "jax", "dataset"}
CHOICES = {"cond", "case", "switch_case"}


def apart(view: View, source: Source, targets: Iterable[Name], names: set[str]) -> Break:
    """The reason, for a source that the code calls `names`."""
    history = view.history
    used = history.before(targets)
    return (
        _left(view, source, used)
        or _kept(view, source)
        or _other_object(view, source, used)
        or _not_taken(view, used, names)
        or _decided(view, source, used)
        or Break("unused", _made(history, targets), linear=_linear(history, source, used))
    )


def _decided(view: View, source: Source, used: dict[Name, None]) -> Break | None:
    """The break on the way to what decides which branch runs, or how often a loop does, if that is all that the source does."""
    conditions = [view.history.deciding[name] for name in used if name in view.history.deciding]
    way = view.way(source, conditions) if conditions else None
    breaks = [b for name, step in way or () if (b := view.fault(name, step)) is not None]
    if breaks:
        breaks[0].detail["decides"] = True
    return breaks[0] if breaks else None


def _made(history: History, targets: Iterable[Name]) -> Line:
    return next((line for line in map(history.line_of, targets) if line[0] is not None), text.NO_LINE)


def _linear(history: History, source: Source, used: dict[Name, None]) -> Line | None:
    """The gradient call with this source whose result the target uses: it does not depend on the source."""
    key = source.names[0] if source.number is None else source.number
    for call in reversed(history.calls):
        if key in call.sources and any(call.start <= name < call.stop for name in used if len(name) == 2):
            return call.line
    return None


# -- the value left the library


def exit_of(view: View, source: Source) -> Break | None:
    """The last exit of something that depends on the source; for a target that is no tensor."""
    exits = _exits(view.history, source)
    return _exit(exits[-1]) if exits else None


def _exits(history: History, source: Source) -> list[Left]:
    """All exits of what depends on the source."""
    reached = history.after(source.names)
    return [e for e in history.exits if e.how in WAYS_OUT and e.origin in reached]


def _exit(left: Left) -> Break:
    return Break("left_library", left.line, None, None, how=left.how)


def _left(view: View, source: Source, used: dict[Name, None]) -> Break | None:
    """The last exit of something that depends on the source, before something was made that the target uses."""
    history = view.history
    exits = _exits(history, source)
    if not exits:
        return None
    used = history.before([*used, *history.hidden(used)])
    last: Left | None = None
    if any(_leaf(history, name) and name not in history.lines for name in used):  # so are the elements of a Dataset
        last = next((e for e in reversed(exits) if e.how == "dataset"), None)
    for entered in _entries(history, used):
        for left in exits:
            if left.number < entered and (last is None or left.number > last.number):
                last = left
    if last is None:
        moments = [step.at for step in _steps_with_numbers(history, used)]
        last = next((e for e in reversed(exits) if any(at >= e.moment for at in moments)), None)
    return None if last is None else _exit(last)


def _entries(history: History, used: dict[Name, None]) -> Iterator[int]:
    """When the values that the target uses came into the library that are no variables' and are not written out in the source."""
    for name in used:
        if _leaf(history, name) and name in history.lines and _computed(history.lines[name]):
            yield name[1]


def _leaf(history: History, name: Name) -> bool:
    return len(name) == 2 and name[0] == 0 and name not in history.variables and name not in history.steps


def _steps_with_numbers(history: History, used: dict[Name, None]) -> Iterator[Any]:
    for name in used:
        step = history.steps.get(name)
        if step is not None and any(_constant(i) for i in step.inputs) and _computed(step.line):
            yield step


def _constant(name: Name) -> bool:
    return name == journal.NUMBERS or (len(name) > 2 and name[-2] == "constant")


def _computed(line: Line) -> bool:
    """Whether an expression takes more than tensors and numbers that are written there: what else it names may be a value."""
    written = text.expression(line)
    if written is None:
        return True
    try:
        tree = ast.parse(written, mode="eval").body
    except SyntaxError:
        return True
    if isinstance(tree, ast.Call):
        return any(not _literal(a) for a in [*tree.args, *[k.value for k in tree.keywords if k.arg != "dtype"]])
    if isinstance(tree, ast.BinOp):
        return not _literal(tree.left) and not _literal(tree.right)
    return True


def _literal(node: ast.AST) -> bool:
    return all(
        isinstance(n, (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.expr_context))
        for n in ast.walk(node)
    )


# -- a statistic, not a weight


def _kept(view: View, source: Source) -> Break | None:
    """The first use, under the tape, of a variable that is not trainable; of a moving mean, say."""
    if source.number is None or source.trainable or view.fault_of_variable(source, None) is None:
        return None
    uses = [step for name in source.names for step in view.history.users.get(name, ()) if view.sees(step.at)]
    step = min(uses, key=lambda step: step.at, default=None)
    return None if step is None else Break("not_trainable", step.line, step.how, step, unused=True)


# -- another object


def _other_object(view: View, source: Source, used: dict[Name, None]) -> Break | None:
    """The target uses what the source is a copy of, or another variable that was made for the same thing."""
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
            if _made_in_tape(view, step) and history.aval(step.name) is variable._tensor.node.aval:
                return Break("wrong_object", step.line, None, step, how="fresh")
    alike = []
    for number, holdings in history.held.items():
        other = journal.variables.get(number)
        if other is None or number in asked or other is variable or not any(name in used for _, name in holdings):
            continue
        if other._tensor.node.aval is variable._tensor.node.aval:
            alike.append(other)
    same_name = [o for o in alike if o.name == variable.name and not o.name.startswith("Variable")]
    same_line = [o for o in alike if o._made[0] is not None and o._made == variable._made]
    if same_name or len(same_line) == 1:  # several that were made at one line are a list of variables
        other = (same_name or same_line)[0]
        later = max(other, variable, key=lambda v: v._uid)
        return Break("wrong_object", later._made, None, None, how="another", name=other.name)
    return None


def _made_in_tape(view: View, step: Step) -> bool:
    """Whether a step made a variable while the tape recorded."""
    return step.how == "variable" and view.tape is not None and step.name[1] > view.tape.number and view.sees(step.at)


# -- a branch that did not run


def _not_taken(view: View, used: dict[Name, None], names: set[str]) -> Break | None:
    """A condition with the source's name in a branch of which the tape saw nothing, beside one that ran."""
    if not names:
        return None
    history = view.history
    codes: dict[Any, set[int]] = {}
    for step in history.steps.values():
        if step.line[0] is not None and (view.sees(step.at) or step.name in used):
            at = text.number(step.line)
            if at is not None:
                codes.setdefault(step.line[0], set()).add(at)
    for left in history.exits:
        opened = view.tape is None or left.number > view.tape.number
        if opened and left.line[0] is not None and left.how == "bool":
            codes.setdefault(left.line[0], set())
    for code, ran in codes.items():
        found = _condition(code, ran, names)
        if found is not None:
            return Break("branch_not_taken", found[0], None, None, at=found[1])
    return None


def _condition(code: Any, ran: set[int], names: set[str]) -> tuple[Line, int] | None:
    whole = text.tree(code.co_filename)
    if whole is None:
        return None
    last = max([p[0] for p in code.co_positions() if p[0] is not None], default=code.co_firstlineno)
    for node in ast.walk(whole):
        if not isinstance(node, (ast.stmt, ast.expr)) or not code.co_firstlineno <= node.lineno <= last:
            continue
        branches = _branches(node, whole)
        for branch in branches:
            mentioned = any(_called(n) in names for part in branch for n in ast.walk(part))
            lines = [n.lineno for part in branch for n in ast.walk(part) if isinstance(n, (ast.stmt, ast.expr))]
            apart = isinstance(node, ast.If) and any(min(lines) <= at <= max(lines) for at in ran)
            elsewhere = {n for other in branches if other is not branch for part in other for n in ast.walk(part)}
            if mentioned and not apart and not any(_called(n) in names for n in elsewhere):
                return _line_at(code, node.lineno), node.lineno
    return None


def _branches(node: ast.AST, whole: ast.Module) -> list[list[Any]]:
    if isinstance(node, ast.If):
        return [part for part in (node.body, node.orelse) if part]
    if isinstance(node, ast.IfExp):
        return [[node.body], [node.orelse]]
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) in CHOICES:
        parts = [n for argument in [*node.args, *[k.value for k in node.keywords]] for n in _functions(argument)]
        defined = {n.name: n for n in ast.walk(whole) if isinstance(n, ast.FunctionDef)}
        return [[part] if isinstance(part, ast.Lambda) else defined[part.id].body for part in parts
                if isinstance(part, ast.Lambda) or part.id in defined]  # fmt: skip
    return []


def _functions(argument: ast.AST) -> list[Any]:
    if isinstance(argument, (ast.List, ast.Tuple)):
        return [n for element in argument.elts for n in _functions(element)]
    if isinstance(argument, ast.Dict):
        return [n for element in argument.values for n in _functions(element)]
    return [argument] if isinstance(argument, (ast.Lambda, ast.Name)) else []


def _called(node: ast.AST) -> str | None:
    """The name, or `self.w`, that a node of a syntax tree is."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return ast.unparse(node)
    return None


def _line_at(code: CodeType, at: int) -> Line:
    """An instruction of the line, of the code or of a function inside of it."""
    stack = [code]
    while stack:
        current = stack.pop()
        for i, p in enumerate(current.co_positions()):
            if p[0] == at:
                return current, 2 * i
        stack += [inner for inner in current.co_consts if isinstance(inner, CodeType)]
    return code, 0
