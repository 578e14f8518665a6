"""The code in a fix as a change of the user's file; the form of the code and the line of the break decide where it goes."""

from __future__ import annotations

import ast
import builtins
import difflib
import linecache
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import source as text
from gradtape._src.explain.callers import PAUSES, opened_before, scope_of, statements_under_tape
from gradtape._src.explain.evidence import Said, Span
from gradtape._src.explain.syntax import SCOPES, SIMPLE, callee, enclosing, free_in, named_in, own, statements_of, within

CODE = re.compile(r"`([^`]*)`")
BESIDE = re.compile(r"`([^`]*)` for `([^`]*)`")  # new code for a line below, and the code that is there now
COMPOUND = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda)
HARMLESS = (ast.Call, ast.keyword, *SIMPLE)  # parents of an expression that needs no brackets


class Edit(NamedTuple):
    """A replacement of a file's lines `first` to `last` by `lines`; an insertion before `first` if `last` is `first - 1`."""

    file: str
    first: int
    last: int
    lines: tuple[str, ...]


Fix = tuple[Edit, ...]
Files = Mapping[str, str]  # file name → text of a changed file


def lines_of(file: str, files: Files) -> list[str]:
    """Return the lines of a file: from `files` if it was changed, else from disk."""
    return files[file].splitlines() if file in files else [line.rstrip("\r\n") for line in linecache.getlines(file)]


def applied(fix: Fix, files: Files) -> dict[str, str]:
    """Return the text of all changed files, after one more fix."""
    changed = dict(files)
    for edit in sorted(fix, key=lambda e: (e.first, e.last), reverse=True):  # bottom up: line numbers above stay valid
        lines = lines_of(edit.file, changed)
        lines[edit.first - 1 : edit.last] = edit.lines
        changed[edit.file] = "\n".join(lines) + "\n"
    return changed


def moved(file: str | None, number: int | None, fix: Fix) -> int | None:
    """Return the new number of a line after a fix."""
    if number is None:
        return None
    own = [e for e in fix if e.file == file]
    away = next((e for e in own if not e.lines and e.first <= number <= e.last), None)
    into = next((e for e in own if away is not None and e.last < e.first), None)
    if away is not None and into is not None:  # the fix moves this line
        number = into.first + number - away.first
    before = [e for e in own if e.last < number and e is not into]
    return number + sum(len(e.lines) - (e.last - e.first + 1) for e in before)


def diff(files: Files) -> list[str]:
    """Return the lines of a unified diff without context and file headers."""
    shown: list[str] = []
    for file, after in files.items():
        found = difflib.unified_diff(lines_of(file, {}), after.splitlines(), file, file, n=0, lineterm="")
        shown += [line for line in found if not line.startswith(("---", "+++"))]
    return shown


def fixes(line: Line, said: Said, asked: Line) -> tuple[Fix, ...]:
    """Return one Fix for each code in the advice, in order.

    `asked` is the line of the gradient call. A fix is left out if a name in it would have no value at its place.
    """
    found, mend = text.statement(line), said.mend
    file, number = text.file(line), text.number(line)
    codes = [code for code in (*CODE.findall(mend), *said.others) if "…" not in code]
    if file is None or number is None or not codes or not said.whole or text.tree(file) is None:
        return ()
    made: list[Fix] = []
    for code in dict.fromkeys(codes):
        match _parsed(code):
            case [ast.Expr(ast.Call(func=ast.Attribute(attr="watch"), args=[_]) as watched)]:
                made += _watch(code, watched, asked)
            case _ if code == "tf.GradientTape(persistent=True)":
                made += _persistent(code, asked)
            case _ if code.endswith(".trainable_variables"):
                made += _trainable(code, asked)
            case _ if isinstance(found, SIMPLE) and code == text.text(line):
                made += _elsewhere(line, found, mend, asked)
            case _ if isinstance(found, SIMPLE) and _is_statement(code, found):
                made += _in_its_place(file, found, code, mend)
            case _ if said.place is not None:
                made += _expression(file, said.place, code)
    return tuple(made)


def _parsed(code: str) -> list[ast.stmt] | None:
    try:
        return ast.parse(code).body
    except SyntaxError:
        return None


def _is_statement(code: str, instead: ast.stmt) -> bool:
    """Return whether code can replace a statement. A call must be of the same function, or of `assign`."""
    match _parsed(code):
        case [ast.Expr(ast.Call(func=function)), *_]:
            same = isinstance(instead, ast.Expr) and isinstance(instead.value, ast.Call)
            return ast.unparse(function).endswith(".assign") or (same and ast.unparse(instead).startswith(ast.unparse(function)))
        case [ast.Assign(targets=[ast.Name(name)])] if isinstance(instead, ast.Expr):
            return ast.unparse(instead).startswith(f"{name}.assign")
        case [ast.Assign(targets=targets)]:
            return isinstance(instead, ast.Assign) and [*map(ast.unparse, targets)] == [*map(ast.unparse, instead.targets)]
        case [ast.AugAssign(target=target)] | [ast.AnnAssign(target=target)]:
            return ast.unparse(target) in [*map(ast.unparse, getattr(instead, "targets", [getattr(instead, "target", target)]))]
        case [ast.Assign(targets=[ast.Name()]), ast.Expr(ast.Call(func=ast.Attribute() as assign))]:
            return ast.unparse(instead).startswith(ast.unparse(assign))
        case [ast.For() as loop]:
            return ".assign(" in ast.unparse(loop)
        case [ast.Return()]:
            return isinstance(instead, ast.Return)
        case _:
            return False


def _spaces(file: str, number: int) -> str:
    line = linecache.getline(file, number)
    return line[: len(line) - len(line.lstrip())]


def _watch(code: str, watched: ast.Call, asked: Line) -> Iterator[Fix]:
    """Yield the call of `watch` in the tape's block: at its start, or behind the statement that computes the watched value."""
    file, tape = text.file(asked), opened_before(asked, "GradientTape")
    if file is None or tape is None:
        return
    calls = [n for n in statements_of(scope_of(asked)) if isinstance(n, ast.Expr) and ast.unparse(n) == code]
    taken = [Edit(file, n.lineno, n.end_lineno or n.lineno, ()) for n in calls]
    first, name = tape.body[0].lineno, next(iter(free_in(watched.args[0])), None)
    made = [n for n in statements_under_tape(asked) if isinstance(n, SIMPLE) and name in named_in(n, ast.Store)]
    behind = [((n.end_lineno or n.lineno) + 1, n.lineno) for n in made[-1:]]
    for at, beside in [(first, first), *behind]:
        if free_in(watched) <= bound(file, at):
            yield (*taken, Edit(file, at, at - 1, (_spaces(file, beside) + code,)))
            return


def _persistent(code: str, asked: Line) -> Iterator[Fix]:
    file, tape = text.file(asked), opened_before(asked, "GradientTape")
    for item in tape.items if tape is not None and file is not None else ():
        if "GradientTape()" in ast.unparse(item.context_expr):
            yield (_replaced(str(file), (text.span(item.context_expr), code)),)


def _trainable(code: str, asked: Line) -> Iterator[Fix]:
    """Yield the replacement of a model's `variables` or `weights` by the trainable ones, in the gradient call's function.

    Those that a `zip` takes elsewhere in the file are replaced, too.
    """
    holder, file = code.rpartition(".")[0], str(text.file(asked))
    zipped = [given for call in within(text.tree(file), ast.Call) if callee(call) == "zip" for given in call.args]
    nodes = [n for part in (scope_of(asked), *zipped) for n in within(part, ast.Attribute)]
    found = {n for n in nodes if n.attr in ("variables", "weights") and ast.unparse(n.value) == holder}
    lines = {n.lineno: [(text.span(other), code) for other in found if other.lineno == n.lineno] for n in found}
    if found:
        yield tuple([_replaced(file, *lines[at]) for at in sorted(lines)])


def _elsewhere(line: Line, found: ast.stmt, mend: str, asked: Line) -> Iterator[Fix]:
    """Yield the removal of the break's statement, or its move into the tape's block or before a pause."""
    file = str(text.file(line))
    last = found.end_lineno or found.lineno
    lines = [written.strip() for written in linecache.getlines(file)[found.lineno - 1 : last]]
    around = next((n for n in within(text.tree(file), ast.stmt) if getattr(n, "body", None) == [found]), None)
    away = Edit(file, around.lineno if isinstance(around, ast.With) else found.lineno, last, ())
    if f"leave out `{text.text(line)}`" in mend:
        yield (away,)
    elif len(lines) == 1 and scope_of(asked) is scope_of(line) and "nest the tapes" not in mend:
        out = "out of" in mend or "outside of" in mend
        block = opened_before(line, *PAUSES) if out else opened_before(asked, "GradientTape")
        if block is None:
            return
        early = found.lineno < block.lineno
        place = block.lineno if out else block.body[0].lineno if early else (block.end_lineno or 0) + 1
        spaces = _spaces(file, block.lineno if out else block.body[0].lineno)
        if not (out or early) and (target := text.computed_target(line)) is not None:
            named = Edit(file, place, place - 1, (f"{spaces}target = {ast.unparse(target)}",))
            yield named, _replaced(file, (text.span(target), "target"))
            return
        moved = Edit(file, place, place - 1, (spaces + lines[0],))
        others = [n for n in statements_of(scope_of(asked)) if isinstance(n, SIMPLE) and n is not found]
        needed = any(named_in(found, ast.Store) & named_in(n, ast.Load) for n in others if n.lineno != text.number(asked))
        yield (moved,) if "again" in mend and not out and needed else (away, moved)


def _in_its_place(file: str, found: ast.stmt, code: str, mend: str) -> Iterator[Fix]:
    """Yield the replacement of the break's statement, with the changes of later lines that it needs."""
    last = found.end_lineno or found.lineno
    if not free_in(ast.parse(code)) <= bound(file, last + 1):
        return
    places: dict[int, list[tuple[Any, str]]] = {}
    for now, before in BESIDE.findall(mend):
        scope = next(reversed(enclosing(text.tree(file), found.lineno, SCOPES)), text.tree(file))
        same = [n for n in within(scope, ast.expr) if last < n.lineno == n.end_lineno and ast.unparse(n) == before]
        if not same:
            return
        for n in same:
            places.setdefault(n.lineno, []).append((text.span(n), now))
    more = [_replaced(file, *parts) for parts in places.values()]
    yield Edit(file, found.lineno, last, (_spaces(file, found.lineno) + code,)), *more


def _expression(file: str, place: Span, code: str) -> Iterator[Fix]:
    """Yield the replacement of the expression that the break names."""
    match _parsed(code):
        case [ast.Expr(value)] if free_in(value) <= bound(file, place[0]):
            tree = text.tree(file) or ast.Module([], [])
            inside = [(n, c) for n in ast.walk(tree) for c in ast.iter_child_nodes(n) if isinstance(c, ast.expr)]
            around = next((n for n, child in inside if text.span(child) == place), tree)
            brackets = isinstance(value, COMPOUND) and not isinstance(around, HARMLESS)
            bare, whole = (_replaced(file, (place, written)) for written in (code, f"({code})"))
            yield (whole if brackets and f"({code})" not in bare.lines[0] else bare,)


def _replaced(file: str, *parts: tuple[Any, str]) -> Edit:
    """Return the edit that replaces the expression at a span, or several of one line, by code; columns count bytes."""
    first, last = parts[0][0][:2]
    before, after = [lines_of(file, {})[number - 1].encode() for number in (first, last)]
    written, at = b"", 0
    for (_, _, start, stop), code in sorted(parts):
        written += before[at:start] + code.encode()
        at = stop
    return Edit(file, first, last, ((written + after[at:]).decode(),))


def bound(file: str, number: int) -> set[str]:
    """Return the names that are bound before a line; of its own function, only those bound above it."""
    whole = text.tree(file) or ast.Module([], [])
    around = [n for n in within(whole, SCOPES) if n.body[0].lineno <= number <= (n.end_lineno or 0) + 1]
    found = set(dir(builtins))
    if not os.path.exists(file):  # names in a notebook's cell may be bound in another cell
        found |= free_in(whole)
    innermost: Any = max(around, key=lambda n: n.lineno, default=whole)
    for scope in [whole, *around]:
        for node in [*within(getattr(scope, "args", None), ast.arg), *own(scope)]:
            if scope is not innermost or getattr(node, "lineno", 0) < number:
                found |= _binds(node)
    return found


def _binds(node: ast.AST) -> set[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.alias(name=name, asname=other):
            return {other or name.partition(".")[0]}
        case ast.ExceptHandler(name=str(name)):
            return {name}
        case _:
            return set()
