"""The statement near a tape that called an op's function: `y = model(x)`, for an op in `Model.call`."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.reaching import reached
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.tensors.tensor import EagerTensor
from gradtape._src.explain import source as text
from gradtape._src.explain.evidence import Evidence
from gradtape._src.explain.syntax import FUNCTIONS, LISTED, SCOPES, callee, enclosing, mentioned, named_in, statements_of, within

OF_AN_OBJECT = {"call", "__call__"}  # methods that run when the object itself is called
LIBRARIES = {"gradtape", "tensorflow", "keras", "numpy", "jax", "tf", "np", "jnp"}
MADE = {"__init__", "__post_init__", "build", "setup"}  # methods that run when an object is created
VALUES = (EagerTensor, np.ndarray, list, dict, str)  # types whose methods run no user code
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)


def minimizing(asked: Line) -> str | None:
    """Return the method, `opt.minimize`, if an optimizer with a tape of its own asked for the gradient; else None."""
    return next((ast.unparse(call.func) for call in within(text.statement(asked), ast.Call) if callee(call) == "minimize"), None)


def callers_in(own: Sequence[ast.stmt], tape: Any, place: Any, broken: Evidence, asked: Line, called: str) -> list[ast.stmt]:
    """Return the statements in the wrong place that may have called a function: by its name, else by their results."""
    at = text.number(asked) or 0
    if place is not tape:
        there = [n for n in own if place.lineno < n.lineno <= (place.end_lineno or 0)]
        wanted = named_in(place, ast.Store)
    elif broken.early:
        there = [n for n in own if (n.end_lineno or 0) < tape.lineno]
        wanted = _led_to(there, named_in(tape, ast.Load))
    else:
        there = [n for n in own if (tape.end_lineno or 0) < n.lineno <= at]
        wanted = set()
    there = [n for n in there if isinstance(n, SIMPLE) or n.lineno == at]  # includes the statement of the gradient call
    by_name = [n for n in there if called in mentioned(n)]
    if by_name:
        return by_name
    functions = {} if called in OF_AN_OBJECT else functions_of(broken.line) | functions_of(asked)
    there = [n for n in there if may_call(n, called, functions)]
    used = [n for n in there if set_by(n) & wanted and not _makes_an_object(n, broken.line)]
    return used or [n for n in there if wanted and isinstance(n, ast.Expr)]


def _led_to(statements: Sequence[ast.stmt], names: set[str]) -> set[str]:
    """Return `names` and the names on which they depend in these statements."""
    found = set(names)
    simple = [n for n in statements if isinstance(n, SIMPLE)]
    for node in reversed([*simple, *simple]):  # twice, because a loop's trip uses results of the previous one
        if set_by(node) & found:
            found |= named_in(node, ast.Load)
    return found


def called_by(line: Line) -> str | None:
    """Return the name by which a line's function is called; None for a constructor, whose call must not be moved."""
    assert line[0] is not None
    scope = scope_of(line)
    inside = line[0].co_name.startswith("<") and line[0].co_name.endswith("comp>")  # a comprehension
    name = getattr(scope, "name", "<module>") if inside else line[0].co_name
    if name in MADE:
        return None
    made = text.statement(line)
    if name == "<lambda>" and isinstance(made, ast.Assign) and isinstance(made.value, ast.Lambda):
        return text.target(line)
    return name


def scope_of(line: Line) -> ast.AST | None:
    """Return the innermost function, class or module around a line."""
    whole, at = text.tree(text.file(line)), text.number(line)
    return None if whole is None or at is None else [whole, *enclosing(whole, at, SCOPES, True)][-1]


def statements_under_tape(asked: Line) -> list[ast.stmt]:
    """Return the statements in the tape's `with` block, in the function that asked for the gradient."""
    own, tape = statements_of(scope_of(asked)), opened_before(asked, "GradientTape")
    return [] if tape is None else [n for n in own if tape.lineno < n.lineno <= (tape.end_lineno or 0)]


PAUSES = ("stop_recording", "init_scope")


def opened_before(line: Line, *called: str) -> ast.With | None:
    """Return the last `with` statement above a line, in its function, that calls a function with one of these names.

    For a gradient call, one that opens the tape of that name comes first.
    """
    own, at, tape = statements_of(scope_of(line)), text.number(line) or 0, text.tape_of(line)
    found = [n for n in own if isinstance(n, ast.With) and n.lineno < at and opening(n, *called)]
    return max(found, key=lambda n: (tape in [ast.unparse(i.optional_vars or i) for i in n.items], n.lineno), default=None)


def set_before(name: str, line: Line, asked: Line) -> Line:
    """Return the statement of the asking function that set the target `name`, for a line of another function; else the line."""
    around, at = scope_of(asked), text.number(asked) or 0
    if around is None or line[0] is None or asked[0] is None or scope_of(line) is around:
        return line
    found = [n for n in statements_of(around) if isinstance(n, SIMPLE) and n.lineno <= at and name in named_in(n, ast.Store)]
    return text.line_at(asked[0], found[-1].lineno) if found else line


def in_a_thread(line: Line) -> tuple[str, str] | None:
    """Return the call that runs a line's function in a thread, and code that calls the function directly; else None."""
    called = called_by(line)
    for call in within(text.tree(text.file(line)), ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(attr="map" | "imap" | "starmap" as way), args=[function, given, *more]):
                each = "*each" if more or way == "starmap" else "each"
                rows = f"zip({', '.join(map(ast.unparse, [given, *more]))})" if more else ast.unparse(given)
                instead = f"[{ast.unparse(function)}({each}) for each in {rows}]"
            case ast.Call(func=ast.Attribute(attr="submit"), args=[function, *args]):
                instead = f"{ast.unparse(function)}({', '.join(map(ast.unparse, [*args, *call.keywords]))})"
            case ast.Call(func=ast.Name("Thread") | ast.Attribute(attr="Thread")):
                named = {keyword.arg: keyword.value for keyword in call.keywords}
                if "target" not in named:
                    continue
                function, passed = named["target"], named.get("args")
                args = passed.elts if isinstance(passed, (ast.Tuple, ast.List)) else []
                instead = f"{ast.unparse(function)}({', '.join(map(ast.unparse, args))})"
            case _:
                continue
        if ast.unparse(function).rpartition(".")[2] == called:
            return ast.unparse(call), instead
    return None


def loop_before(line: Line, asked: Line) -> int | None:
    """Return the line of the outermost loop around a line that ends before the tape opens; None without such a loop."""
    around, at = scope_of(asked), text.number(line)
    if around is None or at is None or scope_of(line) is not around:
        return None
    tape = opened_before(asked, "GradientTape")
    loops = [n for n in statements_of(around) if isinstance(n, (ast.For, ast.While)) and n.lineno <= at <= (n.end_lineno or 0)]
    return min([n.lineno for n in loops if tape is not None and (n.end_lineno or 0) < tape.lineno], default=None)


def opening(node: ast.With, *called: str) -> list[ast.expr]:
    """Return the calls of a `with` statement of functions with these names."""
    return [item.context_expr for item in node.items if callee(item.context_expr) in called]


def blocks(whole: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield all statement lists of a function or file."""
    for node in ast.walk(whole):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls in a statement that may run user code."""
    for n in within(node, ast.Call):
        root: ast.AST = n
        while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
            root = root.func if isinstance(root, ast.Call) else root.value
        name = root.id if isinstance(root, ast.Name) else ""
        of_a_value = isinstance(n.func, ast.Attribute) and any(hasattr(kind, n.func.attr) for kind in VALUES)
        if name not in LIBRARIES and not hasattr(builtins, name) and not of_a_value:
            yield n


def _makes_an_object(node: ast.stmt, line: Line) -> bool:
    """Return whether a statement calls a class defined in the line's file."""
    classes = {n.name for n in within(text.tree(text.file(line)), ast.ClassDef)}
    return any(callee(call) in classes for call in _calls(node))


def functions_of(line: Line) -> dict[str, list[ast.AST]]:
    """Return the functions of a line's file, by name."""
    return _by_name(text.tree(text.file(line)))


@functools.lru_cache(64)
def _by_name(whole: ast.Module | None) -> dict[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for n in within(whole, FUNCTIONS):
        found.setdefault(n.name, []).append(n)
    return found


def may_call(node: ast.AST, called: str, functions: dict[str, list[ast.AST]], by_others: bool = True) -> bool:
    """Return whether a statement may call a function, through functions that mention it, or unknown ones if `by_others`."""

    def bodies(name: str | None) -> Sequence[ast.AST]:
        return functions.get(name or "", ())

    names = reached(map(callee, _calls(node)), lambda name: [callee(call) for body in bodies(name) for call in _calls(body)])
    return any(any(called in mentioned(body) for body in bodies(name)) or (by_others and name not in functions) for name in names)


def set_by(node: ast.stmt) -> set[str]:
    """Return the names that a statement sets, or appends to."""
    appended = [n.func.value for n in within(node, ast.Call) if callee(n) in LISTED and isinstance(n.func, ast.Attribute)]
    return named_in(node, ast.Store) | {n.id for n in appended if isinstance(n, ast.Name)}
