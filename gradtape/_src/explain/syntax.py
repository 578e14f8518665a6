"""Queries on syntax trees: the nodes in a part or around a line, and the names that a part reads, sets or calls."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from typing import Any, TypeVar, overload

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef)
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)  # statements without a block that compute something
LISTED = ("append", "extend", "insert")  # list methods, which accept tensors as well as arrays
Kind = TypeVar("Kind", bound=ast.AST)


@overload
def within(node: ast.AST | None, kind: type[Kind]) -> list[Kind]: ...
@overload
def within(node: ast.AST | None, kind: tuple[type, ...]) -> list[Any]: ...
def within(node: ast.AST | None, kind: Any) -> list[Any]:
    """Return the nodes of a kind in a part, itself included; an empty list without source."""
    return [] if node is None else [n for n in ast.walk(node) if isinstance(n, kind)]


@functools.lru_cache(4096)  # the search covers the whole file
def enclosing(whole: ast.AST | None, at: int | None, kind: type | tuple[type, ...], body: bool = False) -> Any:
    """Return the nodes of a kind around a line, outermost first; with `body` only those whose body has the line."""
    if at is None:
        return []
    found: list[Any] = [n for n in within(whole, kind) if n.lineno <= at <= (n.end_lineno or at)]
    return sorted([n for n in found if not body or n.body[0].lineno <= at], key=lambda n: (n.lineno, n.col_offset))


def own(scope: Any, outside: str = "") -> Iterator[ast.AST]:
    """Yield the nodes of a function or module in order, without those of inner functions and classes.

    Inner functions that declare the name `outside` as global or nonlocal are included.
    """
    stack: list[ast.AST] = [] if scope is None else [*scope.body]
    while stack:
        node = stack.pop(0)
        yield node
        if not isinstance(node, (*SCOPES, ast.Lambda)) or any(
            outside in n.names for n in within(node, (ast.Global, ast.Nonlocal))
        ):
            stack = [*ast.iter_child_nodes(node), *stack]


def statements_of(scope: Any) -> list[ast.stmt]:
    """Return the statements of a function or module, without those in inner functions and classes."""
    return [n for n in own(scope) if isinstance(n, ast.stmt) and not isinstance(n, SCOPES)]


def named_in(node: ast.AST | None, context: type | tuple[type, ...] = ast.expr_context) -> set[str]:
    """Return the names in a part: all, or those that it reads (`ast.Load`) or sets (`ast.Store`)."""
    return {n.id for n in within(node, ast.Name) if isinstance(n.ctx, context)}


def free_in(node: ast.AST) -> set[str]:
    """Return the names that a part reads without binding them itself."""
    return named_in(node, ast.Load) - named_in(node, ast.Store) - {a.arg for a in within(node, ast.arg)}


def mentioned(node: ast.AST | None) -> set[str]:
    """Return the names and attributes that a part reads."""
    read = [n for n in within(node, (ast.Name, ast.Attribute)) if isinstance(n.ctx, ast.Load)]
    return {n.id if isinstance(n, ast.Name) else n.attr for n in read}


def callee(call: ast.AST) -> str | None:
    """Return the last name of the called function: `gradient` of `tape.gradient(…)`."""
    if not isinstance(call, ast.Call):
        return None
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", None)


Function = ast.Lambda | ast.FunctionDef


def looked_up_late(tree: ast.AST | None, roots: set[str]) -> Iterator[tuple[Function, str]]:
    """Yield the functions that a loop over one of the names makes, each with a loop variable that it looks up when called."""
    for targets, over, body in _loops(tree):
        functions = [n for part in body for n in within(part, (ast.Lambda, ast.FunctionDef))] if roots & named_in(over) else []
        for function in functions:
            for name in sorted(named_in(targets) & _free(function))[:1]:
                yield function, name


@functools.lru_cache(64)  # each of the user's frames asks
def _loops(tree: ast.AST | None) -> list[tuple[ast.expr, ast.expr, list[ast.AST]]]:
    """Return the target, the iterable and the body of each loop and comprehension in a file."""
    found: list[tuple[ast.expr, ast.expr, list[ast.AST]]] = []
    for n in within(tree, (ast.For, ast.ListComp, ast.SetComp, ast.DictComp)):
        over = n if isinstance(n, ast.For) else n.generators[0]
        body = n.body if isinstance(n, ast.For) else [n.value if isinstance(n, ast.DictComp) else n.elt]
        found.append((over.target, over.iter, [*body]))
    return found


def _free(function: Function) -> set[str]:
    """Return the free names of a function. Defaults are left out, because they are evaluated at once."""
    body = function.body if isinstance(function.body, list) else [function.body]
    return free_in(ast.Tuple([*body])) - {a.arg for a in within(function.args, ast.arg)}
