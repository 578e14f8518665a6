"""Values that were computed once and kept: under a condition that they are not there yet, or by a decorator that caches."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from typing import NamedTuple

from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import source as text
from gradtape._src.explain.callers import OF_AN_OBJECT, blocks, called_by, functions_of, may_call, mentioned, scope_of


class Once(NamedTuple):
    """Statements that run once only, `why`: the condition or decorator, as it is written, and the function they stand in."""

    body: list[ast.stmt]
    why: str
    function: str


def kept(line: Line, asked: Line) -> tuple[Line, str] | None:
    """Return the op that ran once and whose value was kept since then, or the call of its function; and what keeps it.

    The gradient was `asked` for at a line whose function uses what is kept.
    """
    code, whole, at = line[0], text.tree(text.file(line)), text.number(line)
    if code is None or whole is None or at is None or (called := called_by(line)) is None or (around := scope_of(asked)) is None:
        return None
    parts = list(_once(whole, [at, text.number(asked) or at]))
    for part in parts:
        if any(n.lineno <= at <= (n.end_lineno or n.lineno) for n in part.body):
            return line, part.why
    functions = functions_of(line)
    for part in [] if scope_of(line) is whole else parts:
        by_others = part.function in OF_AN_OBJECT
        if part.function not in mentioned(around) and not may_call(around, part.function, functions, by_others):
            continue
        for n in part.body:
            if called in mentioned(n) or may_call(n, called, functions, False):
                return text.line_in(code.co_filename, n.lineno), part.why
    return None


def _once(whole: ast.Module, lines: list[int]) -> Iterator[Once]:
    """Yield what runs once only, of the functions that can be named at one of the `lines`: not of those inside of others."""
    for part, around in _of_file(whole):
        if all(any(n.lineno <= line <= (n.end_lineno or 0) for line in lines) for n in around):
            yield part


@functools.lru_cache(64)
def _of_file(whole: ast.Module) -> list[tuple[Once, list[ast.FunctionDef | ast.AsyncFunctionDef]]]:
    """Return what runs once only, with the functions around the one in which it stands."""
    functions = [n for n in ast.walk(whole) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = []
    for function in functions:
        for body, why in _parts(function):
            around = [n for n in functions if n is not function and n.lineno < function.lineno <= (n.end_lineno or 0)]
            found.append((Once(body, why, function.name), around))
    return found


def _parts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[list[ast.stmt], str]]:
    """Yield the parts of a function that run once only, and why."""
    for decorator in function.decorator_list:
        if "cache" in ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator):
            yield function.body, f"@{ast.unparse(decorator)}"
    shared = {name for n in ast.walk(function) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    for block in blocks(function):
        for k, node in enumerate(block):
            if isinstance(node, ast.Try):
                yield from _missing(node)
            if isinstance(node, (ast.Expr, ast.Assign, ast.Return)) and (kept_by := _setdefault(node)):
                yield [node], kept_by
            if not isinstance(node, ast.If):
                continue
            body = block[k + 1 :] if isinstance(node.body[-1], ast.Return) else node.body
            stores = [n for part in body for n in ast.walk(part) if isinstance(n, (ast.Assign, ast.AnnAssign))]
            targets = [t for n in stores for t in (n.targets if isinstance(n, ast.Assign) else [n.target])]
            if any(_asks(node.test, target, shared) for target in targets):
                yield body, f"if {ast.unparse(node.test)}:"


def _missing(node: ast.Try) -> Iterator[tuple[list[ast.stmt], str]]:
    """Yield what fills an entry or attribute that is missing, with its name."""
    for handler in node.handlers:
        filled = [t for n in handler.body if isinstance(n, ast.Assign) for t in n.targets if not isinstance(t, ast.Name)]
        if filled and handler.type is not None and ast.unparse(handler.type) in ("KeyError", "AttributeError"):
            yield handler.body, ast.unparse(filled[0])


def _setdefault(node: ast.stmt) -> str | None:
    """Return `cache.setdefault` for a statement that calls it: of what it computes, the first value is kept."""
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return next((ast.unparse(f) for f in calls if isinstance(f, ast.Attribute) and f.attr == "setdefault"), None)


def _asks(test: ast.expr, target: ast.expr, shared: set[str]) -> bool:
    """Return whether a condition asks if an attribute, entry or `shared` name has a value already."""
    if isinstance(target, ast.Name) and target.id not in shared:
        return False
    held = target.value if isinstance(target, ast.Subscript) else target
    if not isinstance(held, (ast.Name, ast.Attribute)):
        return False
    either = {ast.unparse(held), ast.unparse(target)}
    for n in ast.walk(test):
        match n:
            case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
                if either & {ast.unparse(part) for part in ast.walk(n) if isinstance(part, ast.expr)}:
                    return True
            case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=name)]):
                if isinstance(held, ast.Attribute) and held.attr == name:
                    return True
    bare = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return ast.unparse(bare) in either
