"""Functions made in a loop that look up the loop's name when they are called: all of them find the last value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from types import FrameType

from gradtape._src.explain import source as text
from gradtape._src.explain.codes.unused import LookedUpLate

Function = ast.Lambda | ast.FunctionDef


def looked_up_late(names: Iterable[str], frame: FrameType | None) -> LookedUpLate | None:
    """Return the function made in a loop over what holds a source, one of whose names is `weights[0]`, and uses the loop's name.

    The source is not the last of them: the function that was made for it uses another one.
    """
    roots = {re.split(r"\W", name)[0] for name in names if name.endswith("]")}
    for code in text.codes_of(frame):
        tree = text.tree(code.co_filename)
        for targets, over, body in [] if tree is None or not roots else _loops(tree):
            looped = {n.id for n in ast.walk(targets) if isinstance(n, ast.Name)}
            if not roots & {n.id for n in ast.walk(over) if isinstance(n, ast.Name)}:
                continue
            for function in [n for part in body for n in ast.walk(part) if isinstance(n, Function)]:
                late = sorted(looped & _free(function))
                if late:
                    return LookedUpLate(text.line_at(code, function.lineno), name=late[0])
    return None


def _loops(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, list[ast.AST]]]:
    """Yield the name, what it goes through, and the body, of each loop and comprehension."""
    for n in ast.walk(tree):
        if isinstance(n, ast.For):
            yield n.target, n.iter, [*n.body]
        elif isinstance(n, (ast.ListComp, ast.SetComp)):
            yield n.generators[0].target, n.generators[0].iter, [n.elt]
        elif isinstance(n, ast.DictComp):
            yield n.generators[0].target, n.generators[0].iter, [n.value]


def _free(function: Function) -> set[str]:
    """Return the names that a function reads and does not set itself; what its defaults read is read at once."""
    arguments = function.args
    own = {a.arg for a in [*arguments.args, *arguments.kwonlyargs, *arguments.posonlyargs]}
    body = function.body if isinstance(function.body, list) else [function.body]
    found = [n for part in body for n in ast.walk(part) if isinstance(n, ast.Name)]
    return {n.id for n in found if isinstance(n.ctx, ast.Load)} - own - {n.id for n in found if isinstance(n.ctx, ast.Store)}
