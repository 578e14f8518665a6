"""Values that were computed once and kept: if missing, under a condition, or by a decorator that caches."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from typing import NamedTuple

from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import source as text
from gradtape._src.explain.callers import OF_AN_OBJECT, blocks, called_by, functions_of, may_call, scope_of
from gradtape._src.explain.syntax import FUNCTIONS, callee, enclosing, mentioned, within


class Once(NamedTuple):
    """Statements that run only once, the condition or decorator behind it as source text, and their function."""

    body: list[ast.stmt]
    why: str
    function: ast.FunctionDef | ast.AsyncFunctionDef


def kept(line: Line, asked: Line) -> tuple[Line, str] | None:
    """Return the line that computed a kept value, or the call of its function, and the code that keeps the value; else None.

    `asked` is the line of the gradient call, whose function uses the value.
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
        name = part.function.name
        if name not in mentioned(around) and not may_call(around, name, functions, name in OF_AN_OBJECT):
            continue
        for n in part.body:
            if called in mentioned(n) or may_call(n, called, functions, False):
                return text.line_in(code.co_filename, n.lineno), part.why
    return None


def _once(whole: ast.Module, lines: list[int]) -> Iterator[Once]:
    """Yield the statements that run only once, in functions that are visible at one of the `lines`."""
    for part in _of_file(whole):
        outer = [n for n in enclosing(whole, part.function.lineno, FUNCTIONS) if n is not part.function]
        if all(any(n in enclosing(whole, line, FUNCTIONS) for line in lines) for n in outer):
            yield part


@functools.lru_cache(64)
def _of_file(whole: ast.Module) -> list[Once]:
    """Return the statements of a file that run only once."""
    return [Once(body, why, n) for n in within(whole, FUNCTIONS) for body, why in _parts(n)]


def _parts(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[list[ast.stmt], str]]:
    """Yield the parts of a function that run only once, each with the reason."""
    for decorator in function.decorator_list:
        if "cache" in ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator):
            yield function.body, f"@{ast.unparse(decorator)}"
    shared = {name for n in within(function, (ast.Global, ast.Nonlocal)) for name in n.names}
    for block in blocks(function):
        for k, node in enumerate(block):
            if isinstance(node, ast.Try):
                yield from _missing(node)
            for n in within(node, ast.Call) if isinstance(node, (ast.Expr, ast.Assign, ast.Return)) else ():
                if callee(n) == "setdefault":  # the first value given to it is kept
                    yield [node], ast.unparse(n.func)
            if not isinstance(node, ast.If):
                continue
            body = block[k + 1 :] if isinstance(node.body[-1], ast.Return) else node.body
            stores = [n for part in body for n in within(part, (ast.Assign, ast.AnnAssign))]
            targets = [t for n in stores for t in (n.targets if isinstance(n, ast.Assign) else [n.target])]
            if any(_asks(node.test, target, shared) for target in targets):
                yield body, f"if {ast.unparse(node.test)}:"


def _missing(node: ast.Try) -> Iterator[tuple[list[ast.stmt], str]]:
    """Yield the handlers that fill a missing entry or attribute, with its name."""
    for handler in node.handlers:
        filled = [t for n in handler.body if isinstance(n, ast.Assign) for t in n.targets if not isinstance(t, ast.Name)]
        if filled and handler.type is not None and ast.unparse(handler.type) in ("KeyError", "AttributeError"):
            yield handler.body, ast.unparse(filled[0])


def _asks(test: ast.expr, target: ast.expr, shared: set[str]) -> bool:
    """Return whether a condition tests if an attribute, entry or `shared` name has a value already."""
    if isinstance(target, ast.Name) and target.id not in shared:
        return False
    held = target.value if isinstance(target, ast.Subscript) else target
    if not isinstance(held, (ast.Name, ast.Attribute)):
        return False
    either = {ast.unparse(held), ast.unparse(target)}
    for n in ast.walk(test):
        match n:
            case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
                if either & set(map(ast.unparse, within(n, ast.expr))):
                    return True
            case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=name)]):
                if isinstance(held, ast.Attribute) and held.attr == name:
                    return True
    bare = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return ast.unparse(bare) in either
