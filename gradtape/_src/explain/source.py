"""The user's source: the line, expression and names that belong to an instruction."""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import io
import linecache
import tokenize
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from gradtape._src.core.base.reaching import reached
from gradtape._src.core.programs.journal import Line
from gradtape._src.core.programs.op import ops
from gradtape._src.explain.syntax import FUNCTIONS, enclosing, named_in, own, within
from gradtape._src.ops.math.compare import EQUAL, NOT_EQUAL, greater, greater_equal, less, less_equal

Place = tuple[str | None, int | None]  # a file and a line number

NO_LINE: Line = (None, 0)
LONGEST = 120  # characters of a statement over several lines
PRODUCTS = ("matmul", "multiply")
STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
ARITHMETIC: dict[str | None, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod,
    "pow": ast.Pow, "matmul": ast.MatMult,
}  # fmt: skip
COMPARISONS: dict[str, type[ast.cmpop]] = {
    greater.op.type: ast.Gt, greater_equal.op.type: ast.GtE, less.op.type: ast.Lt, less_equal.op.type: ast.LtE,
    EQUAL.type: ast.Eq, NOT_EQUAL.type: ast.NotEq,
}  # fmt: skip
UNREAD = {"self", "cls", "training", "mask"}  # parameters that a method often has to accept without reading them


@functools.lru_cache(256)
def _positions(code: CodeType) -> list[Any]:
    return list(code.co_positions())


def position(line: Line) -> Any:
    """Return `(first line, last line, first column, last column)` of an instruction's expression; None for unknown ones."""
    code, offset = line
    if code is None:
        return None, None, None, None
    positions = _positions(code)
    return positions[offset // 2] if 0 <= offset // 2 < len(positions) else (None, None, None, None)


def span(node: ast.expr) -> Any:
    """Return the same four numbers for an expression of a syntax tree."""
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def number(line: Line) -> int | None:
    """Return the line's number in its file."""
    found: int | None = position(line)[0]
    return found


def file(line: Line) -> str | None:
    """Return the name of the line's file, or of the cell in a notebook."""
    return None if line[0] is None else line[0].co_filename


def where(line: Line) -> Place:
    """Return the line's file and its number there."""
    return file(line), number(line)


def same_line(a: Line, b: Line) -> bool:
    """Return whether two instructions are on the same line of the same code object."""
    return a[0] is not None and a[0] is b[0] and number(a) == number(b)


def stored_name(line: Line) -> str | None:
    """Return the first name that the statement assigns: `y` of `y = f(x)`; None if it assigns none."""
    match statement(line):
        case (
            ast.Assign(targets=[ast.Name(name), *_] | [ast.Tuple([ast.Name(name), *_]), *_])
            | ast.AnnAssign(target=ast.Name(name))
            | ast.AugAssign(target=ast.Name(name))
            | ast.For(target=ast.Name(name))
        ):
            return name
    return None


def unread(line: Line) -> tuple[str, str] | None:
    """Return the name of the line's function and of its last parameter that is never read; None if all are read.

    Parameters with defaults, `self` and the like do not count.
    """
    function = None if line[0] is None else _function(line[0])
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    read = named_in(function, ast.Load)
    given = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    names = [name for name in given[: len(given) - len(function.args.defaults)] if name not in read | UNREAD]
    return (function.name, names[-1]) if names else None


def rebound_name(line: Line) -> str | None:
    """Return the name that a statement both reads and sets: `x` of `x = x + 1`, `self.w` of `self.w -= dw`."""
    found, (at, _, column, _) = statement(line), position(line)
    if found is None and line[0] is not None:
        return _stored_and_read(line[0], line[1])
    pairs = stores(found)
    if len(pairs) > 1:  # the instruction computes one of several values
        around = [(n, v) for n, v in pairs if at == v.lineno and column in range(v.col_offset, v.end_col_offset or 0)]
        pairs = around[:1]
    return next((name for name, value in pairs if name in read_in(value)), None)


def _stored_and_read(code: CodeType, offset: int) -> str | None:
    """Return the rebound name for code without source: the next name stored on the line, if the line reads it."""
    at = number((code, offset))
    own = [i for i in dis.get_instructions(code) if number((code, i.offset)) == at]
    stored = next((i.argval for i in own if i.offset > offset and i.opname in STORES), None)
    return stored if any(i.argval == stored and i.opname.startswith("LOAD_") for i in own) else None


def stores(found: ast.stmt | None) -> list[tuple[str, ast.expr]]:
    """Return each name that a statement sets, with its expression; names unpacked from one value share it."""
    if isinstance(found, ast.AugAssign):
        name = ast.unparse(found.target)
        return [(name, ast.BinOp(ast.parse(name, mode="eval").body, found.op, found.value))]
    if not isinstance(found, ast.Assign) or len(found.targets) > 1:
        return []
    (given,) = found.targets
    if not isinstance(given, (ast.Tuple, ast.List)):
        return [(ast.unparse(given), found.value)]
    values = found.value.elts if isinstance(found.value, (ast.Tuple, ast.List)) else []
    names = [ast.unparse(element) for element in given.elts]
    return list(zip(names, values if len(values) == len(names) else [found.value] * len(names), strict=True))


def read_in(value: ast.expr) -> set[str]:
    """Return the source text of the names, attributes and entries that an expression reads."""
    return set(map(ast.unparse, within(value, (ast.Name, ast.Attribute, ast.Subscript))))


def sets(line: Line, name: str) -> bool:
    """Return whether the statement sets a name or attribute."""
    return name in dict(stores(statement(line)))


def codes_of(frame: FrameType | None) -> Iterator[CodeType]:
    """Yield the code objects of a frame and its callers, up to the first module."""
    while frame is not None:
        yield frame.f_code
        frame = None if frame.f_code.co_name == "<module>" else frame.f_back


def rebinding(name: str, codes: list[CodeType]) -> Line | None:
    """Return the first statement that computes a name or attribute from its own value."""
    for code in codes:
        for found in statements(code, name):
            if any(called == name and name in read_in(value) for called, value in stores(found)):
                return line_at(code, found.lineno)
    return None


@functools.lru_cache(256)
def _function(code: CodeType) -> Any:
    """Return the syntax tree of a code object's function or module; an empty module if its source is unknown."""
    whole = tree(code.co_filename)
    if code.co_name != "<module>":
        named = [n for n in within(whole, FUNCTIONS) if n.name == code.co_name]
        first = [n for n in named if min([n.lineno, *[d.lineno for d in n.decorator_list]]) == code.co_firstlineno]
        whole = next(iter(first), None)
    return whole or ast.Module([], [])


def is_global(code: CodeType, name: str) -> bool:
    """Return whether a function declares a name as global."""
    return any(isinstance(n, ast.Global) and name in n.names for n in _function(code).body)


def statements(code: CodeType, name: str = "") -> list[ast.stmt]:
    """Return the statements of a code object. Inner functions count only if they set the outer variable `name`."""
    return [n for n in own(_function(code), name) if isinstance(n, ast.stmt)]


def heads(found: ast.stmt) -> list[str]:
    """Return the text of a statement; for a block, only the expressions in its header."""
    if not hasattr(found, "body"):
        return [ast.unparse(found)]
    return [ast.unparse(part) for part in ast.iter_child_nodes(found) if isinstance(part, (ast.expr, ast.withitem))]


def assignments(line: Line) -> str | None:
    """Rewrite the statement with `assign` in place of `=`: `w.assign(w - dw)`; None if it unpacks the result of a call."""
    pairs = stores(statement(line))
    if len(pairs) > 1 and len({id(value) for _, value in pairs}) == 1:
        return None
    return "; ".join(f"{name}.assign({ast.unparse(_in_a_variable(value))})" for name, value in pairs) or None


def _in_a_variable(value: ast.expr) -> ast.expr:
    """Return the initial value that a new Variable is given; any other expression is returned unchanged."""
    match value:
        case ast.Call(func=ast.Name("Variable") | ast.Attribute(attr="Variable"), args=[given, *_]):
            return given
        case _:
            return value


def makes_a_variable(line: Line) -> bool:
    """Return whether the statement assigns new Variables."""
    return any(_in_a_variable(value) is not value for _, value in stores(statement(line)))


def target(line: Line) -> str | None:
    """Return the target of the assignment: `w`, `self.w`; None for several targets, or without source."""
    found = statement(line)
    if isinstance(found, (ast.AnnAssign, ast.AugAssign)):
        return ast.unparse(found.target)
    return ast.unparse(found.targets[0]) if isinstance(found, ast.Assign) and len(found.targets) == 1 else None


def value_of(line: Line, name: str) -> str | None:
    """Return the value that the statement assigns to a name: `step(w)` of `w = step(w)`; None for any other statement."""
    found = statement(line)
    return ast.unparse(found.value) if isinstance(found, ast.Assign) and target(line) == name else None


def line_at(code: CodeType, at: int) -> Line:
    """Return an instruction of a line by its number. The code and its inner functions are searched first, then the file."""
    return _instruction(code, at) or line_in(code.co_filename, at)


def _instruction(code: CodeType, at: int, span: Any = None) -> Line | None:
    codes = reached([code], lambda outer: [inner for inner in outer.co_consts if isinstance(inner, CodeType)])
    places = ((inner, 2 * i, p) for inner in codes for i, p in enumerate(_positions(inner)))
    return next(((inner, offset) for inner, offset, p in places if p[0] == at and span in (None, tuple(p))), None)


def line_in(name: str, at: int, span: Any = None) -> Line:
    """Return an instruction of a line in a file, or of an expression in it, when no code object of it is known."""
    whole = tree(name)
    return (None if whole is None else _instruction(compile(whole, name, "exec"), at, span)) or NO_LINE


@functools.lru_cache(64)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def tree(name: str | None) -> ast.Module | None:
    """Return the syntax tree of a file, or None where there is no source."""
    if name is None:
        return None
    text = "".join(linecache.getlines(name))
    return _parsed(text) if text else None


def statement(line: Line) -> ast.stmt | None:
    """Return the innermost statement around the instruction."""
    return next(reversed(enclosing(tree(file(line)), number(line), ast.stmt)), None)


SHOWING = frozenset("critical debug display error exception info log pprint print warn warning write".split())


def is_shown(line: Line) -> bool:
    """Return whether the statement only prints or logs values: `print(…)`, `logger.info(…)`; not if it writes a file."""
    match statement(line):
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name in SHOWING
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name, value=receiver))):
            return name in SHOWING and not (name == "write" and ast.unparse(receiver) in _files(line))
        case _:
            return False


def _files(line: Line) -> set[str]:
    """Return the names of the files opened in a `with` around the line: `f` of `with open(path, "w") as f:`."""
    blocks = enclosing(tree(file(line)), number(line), ast.With)
    items = [item for block in blocks for item in block.items if ast.unparse(item.context_expr).startswith("open(")]
    return {ast.unparse(item.optional_vars) for item in items if item.optional_vars is not None}


def in_a_loop(line: Line) -> bool:
    """Return whether the line is in the body of a `for` or `while`."""
    return bool(enclosing(tree(file(line)), number(line), (ast.For, ast.While), True))


def in_a_header(line: Line) -> bool:
    """Return whether the instruction is in the header of an `if`, `while` or `for`: its condition or iterable."""
    found, at = statement(line), number(line)
    if not isinstance(found, (ast.If, ast.While, ast.For)) or at is None:
        return False
    header = found.iter if isinstance(found, ast.For) else found.test
    return header.lineno <= at <= (header.end_lineno or header.lineno)


def expression_at(line: Line, op: str | None = None) -> ast.expr | None:
    """Return the instruction's expression. Else return the only one in it, or in the statement, that is written as `op`."""
    found, at = within(statement(line), ast.expr), position(line)
    itself = None if at[2] is None else next((n for n in found if span(n) == tuple(at)), None)
    if at[2] is not None and (itself is None or op is None or _computes(itself, op)):
        return itself
    inner = found if itself is None else within(itself, ast.expr)
    of_op = [n for n in inner if op is not None and _computes(n, op)]
    return of_op[0] if len(of_op) == 1 else itself


def _computes(node: ast.expr, op: str) -> bool:
    """Return whether an expression is written as an op of that type: `tf.norm(x)` for "EuclideanNorm", `a / b` for "RealDiv"."""
    match node:
        case ast.Call(func=function):
            called, name = ast.unparse(function).rpartition(".")[2].replace("_", "").lower(), op.lower()
            bounds = called == "clipbyvalue" and name in ("minimum", "maximum")
            return called in name or called in (f"arg{name}", f"reduce{name}") or bounds
        case ast.BinOp(op=operator) | ast.Compare(ops=[operator]):
            kind = COMPARISONS.get(op) or ARITHMETIC.get(None if op not in ops else ops[op].operator)
            return kind is not None and isinstance(operator, kind)
        case _:
            return False


def parts(line: Line, op: str | None = None) -> list[ast.expr]:
    """Return the operands of the instruction: `w` of `tf.round(w)`, `p` and `0.5` of `p > 0.5`.

    With `op` only a call of that name counts, because other functions may apply the op to other values.
    """
    match expression_at(line, op):
        case ast.Call(args=given) as found if not any(isinstance(a, ast.Starred) for a in given):
            return given if op is None or _computes(found, op) else []
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.BinOp(left=left, right=right):
            return [left, right]
    return []


def operands(line: Line, op: str | None = None) -> list[str]:
    """Return the source text of the operands, in brackets where needed."""
    closed = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)
    return [ast.unparse(part) if isinstance(part, closed) else f"({ast.unparse(part)})" for part in parts(line, op)]


def keywords(line: Line, op: str | None = None) -> dict[str, str]:
    """Return the keyword arguments of a call as source text: `axis` and `-1` of `tf.norm(x, axis=-1)`."""
    found = expression_at(line, op)
    given = found.keywords if isinstance(found, ast.Call) else []
    return {keyword.arg: ast.unparse(keyword.value) for keyword in given if keyword.arg is not None}


def factors(line: Line, op: str | None) -> list[str]:
    """Return the source text of a product's operands, or all of a chain's; none if a call of another function computes it."""
    op = None if position(line)[2] is not None else op
    found = expression_at(line, op)
    chains = [n for n in within(statement(line), ast.BinOp) if _computes(n, op or "")] if found is None else []
    if chains and all(n in ast.walk(chains[0]) for n in chains):
        return [*dict.fromkeys([ast.unparse(n) for c in reversed(chains) for n in (c.left, c.right) if n not in chains])]
    product = isinstance(found, ast.BinOp) or (isinstance(found, ast.Call) and ast.unparse(found.func).endswith(PRODUCTS))
    return operands(line, op) if product else []


def text(line: Line) -> str | None:
    """Return the source line without its comment; a statement over several lines is joined into one."""
    whole = _on_one_line(line)
    if whole is not None:
        return whole
    name, at = where(line)
    found = "" if name is None or at is None else linecache.getline(name, at).strip()
    with contextlib.suppress(tokenize.TokenError, IndentationError, SyntaxError):  # the line may be only part of a statement
        for token in tokenize.generate_tokens(io.StringIO(found).readline):
            if token.type == tokenize.COMMENT:
                return found[: token.start[1]].strip()
    return found or None


def _on_one_line(line: Line) -> str | None:
    """Return the multi-line statement or expression at the line, on one line; None for a block or a single line."""
    found, at = statement(line), number(line)
    if found is None or hasattr(found, "body") or isinstance(found, ast.Match) or found.lineno == found.end_lineno:
        return None
    whole = found if found.lineno == at else expression_at(line)
    written = "" if whole is None else ast.unparse(whole)
    return written if len(written) <= LONGEST and "\n" not in written else written.split("\n")[0][: LONGEST - 1] + "…"


def argument(line: Line, place: int) -> str | None:
    """Return the source text of a gradient call's source by its position: `model.variables[3]`; None if it is not written out."""
    given = [part for n, _ in _asking(line) for part in [*n.args[1:2], *[k.value for k in n.keywords if k.arg == "sources"]]]
    match given:
        case [ast.Name(name)] if place == 0:
            return name
        case [ast.List(elts) | ast.Tuple(elts)] if place < len(elts) and not any(isinstance(e, ast.Starred) for e in elts):
            return ast.unparse(elts[place])
        case [ast.Attribute(attr=name)] if name.endswith(("variables", "weights")):
            return f"{ast.unparse(given[0])}[{place}]"
        case _:
            return None


def tape_of(line: Line) -> str | None:
    """Return the source text of a gradient call's tape; None if it is not written out."""
    return next((ast.unparse(tape) for _, tape in _asking(line)), None)


def target_of(line: Line) -> str | None:
    """Return the name of a gradient call's target; None if the target is not a name."""
    return next((n.args[0].id for n, _ in _asking(line) if n.args and isinstance(n.args[0], ast.Name)), None)


def computed_target(line: Line) -> ast.expr | None:
    """Return the target of the line's only gradient call if it is computed there, as in `tape.gradient(f(x), x)`; else None."""
    found = [n.args[0] for n, _ in _asking(line) if n.args and not isinstance(n.args[0], (ast.Name, ast.Attribute))]
    return found[0] if len(found) == 1 else None


def _asking(line: Line) -> list[tuple[ast.Call, ast.expr]]:
    """Return the gradient calls in the line's statement, each with the expression of its tape."""
    calls = within(statement(line), ast.Call)
    methods = ("gradient", "jacobian", "batch_jacobian")
    return [(n, n.func.value) for n in calls if isinstance(n.func, ast.Attribute) and n.func.attr in methods]
