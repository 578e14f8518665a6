"""Branches that did not run, and loops without a trip: the names that they would have used are read in the user's source."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gradtape._src.core.journal import Line
from gradtape._src.core.structured import BRANCH, LOOP, StructuredOp
from gradtape._src.explain import source as text
from gradtape._src.explain.callers import blocks, callee, scope_of, statements_under_tape
from gradtape._src.explain.codes.unused import Unknown
from gradtape._src.explain.evidence import Evidence, Said, of_no_way
from gradtape._src.explain.history import History, Name, Step
from gradtape._src.explain.words import Words

if TYPE_CHECKING:
    from gradtape._src.explain.apart import Apart
    from gradtape._src.explain.breaks import View

CHOICES = {"cond", "case", "switch_case"}
ABOUT = {"name", "shape", "dtype", "device", "trainable", "path"}  # what is read of a variable without using its value
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)

Place = tuple[int, int]  # a line, and the column in it


class File(NamedTuple):
    """A file as it is written: its functions by name, and the values that single names are set to."""

    tree: ast.Module
    functions: dict[str, list[ast.FunctionDef]]
    values: dict[str, list[ast.expr]]


class BranchNotTaken(Evidence):
    code, named = "branch_not_taken", "the condition, loop or `except`"
    when = "the source is used in a branch that did not run, in a loop without a trip, or in a `try` that failed"
    harmless = True
    of: Literal["branch", "loop", "try"]
    flag: str | None = None  # the argument of the function that has to be another for it, as `training=True`

    def said(self, w: Words) -> Said:
        match self.of:
            case "try":
                return Said(
                    f"{w.source} is used in a `try` that failed, and `{text.text(self.line)}` hides its error",
                    "print the error, or leave the except clause out, and do what the error says",
                )
            case "loop":
                return Said(
                    f"{w.source} is used in the loop {self.written}, which made no trip",
                    "let the loop run once at least, or ask for `unconnected_gradients='zero'`",
                )
            case "branch" if self.flag is not None:
                name, _, wanted = self.flag.partition("=")
                call = _call_with(self.line, w.asked, self.flag)
                cause = f"{w.source} is used in a branch of {self.written} that did not run, as {name} was not {wanted}"
                return Said(cause, f"call with `{self.flag if call is None else call[1]}`", call and text.span(call[0]))
            case "branch":
                return Said(
                    f"{w.source} is used in a branch of {self.written} that did not run",
                    "look at the condition: the side that does not run has no gradient, or zeros; where both are to learn, add "
                    "them with soft weights, tf.sigmoid(…)",
                )


@of_no_way(40)
def _not_taken(case: Apart) -> Evidence | None:
    return not_taken(case.view, case.used, case.names, case.frame)


def not_taken(view: View, used: dict[Name, None], names: set[str], frame: FrameType | None) -> BranchNotTaken | None:
    """Return a condition or loop with one of `names` in a part of which the tape saw nothing.

    The code of `frame` counts up to where it asks. Names are those of the source, and of objects that hold it and nothing that
    was used; ".head" is an attribute of any object.
    """
    ran: dict[str, set[Place]] = {}
    codes: dict[CodeType, None] = {}
    for line in _lines(view, used):
        at, _, column, _ = text.position(line)
        if line[0] is not None and at is not None:
            codes[line[0]] = None
            ran.setdefault(line[0].co_filename, set()).add((at, column or 0))
    for left in view.history.exits:
        opened = view.tape is None or left.number > view.tape.number
        if opened and left.line[0] is not None and left.how == "bool":
            codes[left.line[0]] = None
    for code in codes:
        asking = frame.f_lineno if frame is not None and frame.f_code is code else 0
        found = _in_code(code, ran.get(code.co_filename, set()), names, asking) if names else None
        if found is not None:
            return found
    return None


def _lines(view: View, used: dict[Name, None]) -> Iterator[Line]:
    for step in view.history.steps.values():
        if view.sees(step.at) or step.name in used:
            yield step.line


def _in_code(code: CodeType, ran: set[Place], names: set[str], asking: int) -> BranchNotTaken | None:
    tree = text.tree(code.co_filename)
    if tree is None:
        return None
    file = _file(tree)
    for part, branches in _choices(tree, code):
        if asking and asking <= (part.end_lineno or 0):  # around the line that asks, or after it
            continue
        missed = _missed(part, branches, ran, names, file)
        if missed is not None:
            if isinstance(part, ast.Try):
                return BranchNotTaken(text.line_at(code, part.handlers[0].lineno), of="try")
            loop = isinstance(part, (ast.While, ast.For)) or callee(part) == "while_loop"
            line = text.line_at(code, part.lineno)
            return BranchNotTaken(line, of="loop" if loop else "branch", flag=_flag(line, part, missed))
    return None


@functools.lru_cache(64)
def _choices(tree: ast.Module, code: CodeType) -> list[tuple[Any, list[Sequence[ast.AST]]]]:
    """Return what code chooses by, with the branches: a search through the whole file, which many sources share."""
    file, spans, found = _file(tree), _spans(code), []
    if any(isinstance(n, ast.Try) for n in ast.walk(tree)):
        spans += _tried(tree, spans)
    for block in blocks(tree):
        for k, node in enumerate(block):
            for part in ast.walk(node) if not isinstance(node, ast.FunctionDef) else ():
                if isinstance(part, (ast.stmt, ast.expr)) and any(a <= part.lineno <= b for a, b in spans):
                    branches = _branches(part, block[k + 1 :] if part is node else [], file)
                    found += [(part, branches)] if branches else []
    return found


def _spans(code: CodeType) -> list[tuple[int, int]]:
    """Return the lines of the tapes that code opens, and not a function inside of it; if it opens none, all its lines."""
    last = max([p[0] for p in code.co_positions() if p[0] is not None], default=code.co_firstlineno)
    blocks = [n for n in text.statements(code) if isinstance(n, ast.With)]
    tapes = [n for n in blocks if any("GradientTape(" in ast.unparse(item) for item in n.items)]
    return [(n.lineno, n.end_lineno or n.lineno) for n in tapes] or [(code.co_firstlineno, last)]


def _tried(tree: ast.Module, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the lines of the functions with a `try` that are named in these lines: of what failed no line ran."""
    tried = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and any(isinstance(part, ast.Try) for part in n.body)]
    named = [n for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.Attribute)) and any(a <= n.lineno <= b for a, b in spans)]
    called = {n.id if isinstance(n, ast.Name) else n.attr for n in named}
    return [(n.lineno, n.end_lineno or n.lineno) for n in tried if n.name in called]


@functools.lru_cache(64)
def _file(tree: ast.Module) -> File:
    """Return the functions and single values of a file by their names."""
    functions: dict[str, list[ast.FunctionDef]] = {}
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
    return File(tree, functions, values)


def _missed(node: ast.AST, branches: Sequence[Sequence[ast.AST]], ran: set[Place], names: set[str], file: File) -> Any:
    """Return the one of the branches which uses one of the names, if no other does, and nothing of it ran; else None."""
    using = [branch for branch in branches if _uses(branch, names, file)]
    if len(using) != 1:
        return None
    if isinstance(node, (ast.expr)) and not all(isinstance(part, ast.stmt) for part in using[0]):
        return using[0]  # a lambda, beside the one that ran on the same line
    parts = [n for part in using[0] for n in ast.walk(part) if isinstance(n, (ast.stmt, ast.expr))]
    first = min([(n.lineno, n.col_offset) for n in parts])
    last = max([(n.end_lineno or n.lineno, n.end_col_offset or 0) for n in parts])
    return None if any(first <= at <= last for at in ran) else using[0]


def _flag(line: Line, node: ast.AST, missed: Sequence[ast.AST]) -> str | None:
    """Return the argument with which a branch would have run, where an argument alone decides; None for any other condition."""
    match node:
        case ast.If(test=ast.Name(name)) | ast.IfExp(test=ast.Name(name)):
            wanted = missed in (node.body, [node.body])
        case ast.If(test=ast.UnaryOp(ast.Not(), ast.Name(name))) | ast.IfExp(test=ast.UnaryOp(ast.Not(), ast.Name(name))):
            wanted = missed not in (node.body, [node.body])
        case _:
            return None
    arguments = getattr(scope_of(line), "args", None)
    given = [a.arg for a in [*arguments.args, *arguments.kwonlyargs]] if isinstance(arguments, ast.arguments) else []
    return f"{name}={wanted}" if name in given else None


def _call_with(line: Line, asked: Line, flag: str) -> tuple[ast.Call, str] | None:
    """Return the only call under the tape, of the function of a line, that does not give an argument, and the same with it."""
    name, called = flag.partition("=")[0], getattr(scope_of(line), "name", "")
    parts = [n for statement in statements_under_tape(asked) for n in ast.walk(statement) if isinstance(n, ast.Call)]
    if called in ("call", "__call__"):
        found = [n for n in parts if not ast.unparse(n.func).startswith("tf.")]
    else:
        found = [n for n in parts if callee(n) == called]
    found = [n for n in found if not any(k.arg in (name, None) for k in n.keywords)]
    if len(found) != 1 or text.file(line) != text.file(asked):
        return None
    return found[0], f"{ast.unparse(found[0])[:-1]}, {flag})"


def _uses(nodes: Sequence[ast.AST], names: set[str], file: File) -> bool:
    """Return whether code uses one of the names, itself or in functions of the same file that it calls."""
    waiting, seen = list(nodes), set()
    while waiting:
        node = waiting.pop()
        called = _called(node)
        if called is not None and (called in names or (isinstance(node, ast.Attribute) and f".{node.attr}" in names)):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ABOUT:
            continue
        if isinstance(node, ast.Call):
            name = callee(node)
            if name not in seen:
                seen.add(name)
                waiting += [statement for function in file.functions.get(str(name), ()) for statement in function.body]
        waiting += ast.iter_child_nodes(node)
    return False


def _branches(node: ast.AST, after: Sequence[ast.stmt], file: File) -> list[Sequence[ast.AST]]:
    """Return the parts of a node of which one runs; the statements `after` an `if` that leaves are its other branch."""
    if isinstance(node, ast.If):
        other = node.orelse or (after if isinstance(node.body[-1], LEAVING) else [])
        return [part for part in (node.body, other) if part]
    if isinstance(node, (ast.While, ast.For)) or (isinstance(node, ast.Try) and node.handlers):
        return [node.body]
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    if isinstance(node, ast.IfExp):
        return [[node.body], [node.orelse]]
    if isinstance(node, ast.Call) and callee(node) == "while_loop":
        given = [*node.args, *[k.value for k in node.keywords if k.arg == "body"]]
        return _functions(given[1], file) if len(given) > 1 else []
    if isinstance(node, ast.Call) and callee(node) in CHOICES:
        return [part for argument in [*node.args, *[k.value for k in node.keywords]] for part in _functions(argument, file)]
    return []


def _functions(argument: ast.AST, file: File, depth: int = 0) -> list[Sequence[ast.AST]]:
    """Return the bodies of the functions that an argument names or holds."""
    if isinstance(argument, (ast.List, ast.Tuple)):
        return [part for element in argument.elts for part in _functions(element, file, depth)]
    if isinstance(argument, ast.Dict):
        return [part for element in argument.values for part in _functions(element, file, depth)]
    if isinstance(argument, ast.Lambda):
        return [[argument.body]]
    name = argument.id if isinstance(argument, ast.Name) else argument.attr if isinstance(argument, ast.Attribute) else None
    if name is None or depth > 3:
        return []
    bodies: list[Sequence[ast.AST]] = [function.body for function in file.functions.get(name, ())]
    return bodies or [part for value in file.values.get(name, ()) for part in _functions(value, file, depth + 1)]


def _called(node: ast.AST) -> str | None:
    """Return the name, or `self.w`, of a node of a syntax tree."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return ast.unparse(node)
    return None


def untaken(history: History, way: Sequence[tuple[Name, Step]]) -> Evidence:
    """Return the branch or loop of a function that uses the source and did not run."""
    for kind in (BRANCH, LOOP):
        for _, step in way:
            for length in range(len(step.name) - 1, 1, -1):
                around = history.steps.get(step.name[:length])
                if around is not None and isinstance(around.op, StructuredOp) and around.op.kind is kind:
                    return BranchNotTaken(around.line, around.how, around, of="loop" if kind is LOOP else "branch")
    return Unknown(text.NO_LINE)
