"""Rewrites of the user's statements with tensors only: `np.exp(x.numpy())` becomes `tf.exp(x)`."""

from __future__ import annotations

import ast
import copy
import re
from typing import Any

from gradtape._src.core.programs.journal import Line
from gradtape._src.explain import source as text
from gradtape._src.explain.callers import scope_of, set_by
from gradtape._src.explain.evidence import Span
from gradtape._src.explain.syntax import FUNCTIONS, LISTED, SIMPLE, mentioned, named_in, statements_of, within
from gradtape._src.ops.math.arithmetic import realdiv
from gradtape._src.ops.math.elementary import acos, acosh, asin, atanh

# NumPy functions and their names in TensorFlow, where the arguments have the same meaning.
NUMPY = {
    "mean": "reduce_mean", "sum": "reduce_sum", "max": "reduce_max", "min": "reduce_min", "amax": "reduce_max",
    "amin": "reduce_min", "prod": "reduce_prod", "concatenate": "concat", "power": "pow", "clip": "clip_by_value",
    "var": "math.reduce_variance", "std": "math.reduce_std", "einsum": "einsum", "fft.fft": "signal.fft",
    "fft.ifft": "signal.ifft", "fft.rfft": "signal.rfft", "fft.irfft": "signal.irfft",
    "diag": "linalg.diag", "trace": "linalg.trace", "log": "math.log", "log1p": "math.log1p", "absolute": "abs",
    "expm1": "math.expm1", "cumsum": "cumsum", "acos": "acos", "asin": "asin", "atan": "atan", "atan2": "atan2",
    "erf": "math.erf", "fabs": "abs", "lgamma": "math.lgamma", "arccos": "acos", "arcsin": "asin", "arctan": "atan",
    "arctan2": "atan2", "cumprod": "math.cumprod", "real": "math.real", "imag": "math.imag", "angle": "math.angle",
} | {
    name: name for name in (
        "abs", "exp", "sqrt", "square", "sin", "cos", "tan", "tanh", "sinh", "cosh", "maximum", "minimum", "where", "reshape",
        "transpose", "stack", "expand_dims", "squeeze", "matmul", "multiply", "add", "subtract", "divide", "sign", "round",
        "linspace",
    )
} | {"linalg.norm": "norm", "linalg.inv": "linalg.inv", "linalg.det": "linalg.det"}  # fmt: skip
METHODS = {"mean", "sum", "max", "min", "prod", "std", "var", "squeeze", "transpose", "clip"}  # of arrays
SAMPLED = {  # random numbers as functions of two parameters and of noise that does not depend on them
    "random.normal": "{0} + ({1}) * tf.random.normal(tf.shape({0}))",
    "random.uniform": "{0} + ({1} - ({0})) * tf.random.uniform(tf.shape({0}))",
}
LONGEST_ARGUMENT = 60
NAMED = (ast.Name, ast.Attribute)
STABLE = {  # formula → the function that computes it; `rest` are the other arguments
    "log(1 - sigmoid(x))": "tf.math.log_sigmoid(-x)", "log(sigmoid(x))": "tf.math.log_sigmoid(x)",
    "log(1 + exp(x))": "tf.math.softplus(x)", "log1p(exp(x))": "tf.math.softplus(x)", "1 / (1 + exp(-x))": "tf.sigmoid(x)",
    "exp(x) / sum(exp(x))": "tf.nn.softmax(x)", "log(softmax(x))": "tf.nn.log_softmax(x, rest)",
    "log(clip_by_value(sigmoid(x)))": "tf.math.log_sigmoid(x)", "log(maximum(sigmoid(x)))": "tf.math.log_sigmoid(x)",
    "log(clip_by_value(softmax(x)))": "tf.nn.log_softmax(x)", "log(maximum(softmax(x)))": "tf.nn.log_softmax(x)",
    "log(sum(exp(x)))": "tf.reduce_logsumexp(x, rest)", "log(det(x))": "tf.linalg.slogdet(x)[1]",
    "log(prod(x))": "tf.reduce_sum(tf.math.log(x), rest)", "normalize(x)[0]": "tf.math.l2_normalize(x, rest)",
}  # fmt: skip
ITERATING = ("list", "map", "zip", "enumerate", "tuple", "reversed")  # these take tensors as well as arrays
HARMLESS = {acos.op.type: 0.0, asin.op.type: 0.0, atanh.op.type: 0.0, acosh.op.type: 2.0}  # their edge is at 1
FLOATING = {"float", "float16", "float32", "float64"}
AS_IT_IS = {"float16", "float32", "float64", "asarray", "array", "atleast_1d"}  # these return a tensor unchanged


def with_tensors(line: Line) -> str | None:
    """Rewrite the statement without NumPy, `.numpy()` and `float()`; None if these rewrites do not suffice."""
    found = text.statement(line)
    if not isinstance(found, SIMPLE):
        return None
    change = _ToTensors()
    changed = ast.unparse(ast.fix_missing_locations(change.visit(ast.parse(ast.unparse(found)))))
    return changed if change.changed and not change.unknown else None


def array_uses(line: Line, scope: ast.AST) -> list[tuple[str, str]] | None:
    """Return the later uses of an array that a line assigns or appends, each in its form for tensors; None if one has none."""
    name, at = text.target(line), text.number(line) or 0
    made = text.statement(line)
    filled = set_by(made) - named_in(made, ast.Store) if made is not None else set()
    found: dict[str, str] = {}
    for part in [n for n in within(scope, SIMPLE) if n.lineno > at]:
        change = _ToTensors({name or "", *filled}, filled)
        change.visit(ast.parse(ast.unparse(part)))
        if change.unknown:
            return None
        found |= {before: now for before, now in change.made.items() if now != name and before not in found}
    return list(found.items())


def without_stop(line: Line) -> str | None:
    """Rewrite the statement without the line's `stop_gradient` call, or its `back_prop=False`; None if the call is ambiguous."""
    found, (at, _, column, _) = text.statement(line), text.position(line)
    if not isinstance(found, SIMPLE):
        return None
    calls = within(found, ast.Call)
    called = [(n, n.args[0]) for n in calls if ast.unparse(n.func).endswith("stop_gradient") and n.args]
    loops = [(n, [k for k in n.keywords if k.arg != "back_prop"]) for n in calls]
    called += [(n, ast.Call(n.func, n.args, kept)) for n, kept in loops if len(kept) < len(n.keywords)]
    if len(called) > 1:
        called = [(n, new) for n, new in called if (n.lineno, n.col_offset) == (at, column)]
    if len(called) != 1:
        return None
    whole = _with(found, called[0][0], ast.unparse(called[0][1]))
    return whole if len(whole) <= text.LONGEST and "\n" not in whole else None


def bound_early(line: Line, name: str) -> tuple[str, Span | None]:
    """Return the advice to bind a name as a default, and the place of the statement's only `lambda` that reads it."""
    made = within(text.statement(line), ast.Lambda)
    found = [n for n in made if name in named_in(n.body)]
    if len(found) != 1 or found[0].args.vararg or found[0].args.kwarg or found[0].args.kwonlyargs:
        return f"bind it where the function is made, by a default: `lambda x, {name}={name}: …`", None
    given = ast.unparse(found[0].args)
    written = f"lambda {given}{', ' if given else ''}{name}={name}: {ast.unparse(found[0].body)}"
    return f"bind it where the function is made, by a default: `{written}`", text.span(found[0])


def as_floating(line: Line) -> str | None:
    """Rewrite a statement that creates an integer constant or Variable with a floating dtype; None for any other."""
    match text.statement(line):
        case ast.Assign(targets=[name], value=ast.Call(func=function, args=[given], keywords=named)):
            made = ast.unparse(function).rpartition(".")[2] in ("constant", "Variable", "convert_to_tensor")
            if made and not any(keyword.arg == "dtype" for keyword in named):
                others = [ast.unparse(part) for part in (given, *named)]
                return f"{ast.unparse(name)} = {ast.unparse(function)}({', '.join([*others, 'dtype=tf.float32'])})"
    return None


def without_assign(line: Line) -> str:
    """Return the advice for `x.assign(value)` and its kin: `x = x + value`, or a new name, with what later lines read of `x`."""
    match text.statement(line):
        case ast.Expr(ast.Call(func=ast.Attribute(held, "assign" | "assign_add" | "assign_sub" as how), args=[given])):
            name, new, scope = ast.unparse(held), f"new_{ast.unparse(held).rpartition('.')[2]}", scope_of(line)
            sign = {"assign_add": "+", "assign_sub": "-"}.get(how)
            value = ast.unparse(_parsed(f"{name} {sign} ({ast.unparse(given)})") if sign else given)
            if sign and isinstance(held, ast.Name) and (isinstance(scope, ast.Module) or name in named_in(scope, ast.Store)):
                return f"add up tensors: `{name} = {value}`, and assign afterwards"
            later = [ast.unparse(part) for n in _after(line) for part in within(n, ast.expr)]
            last = name.rpartition(".")[2]
            others = [n for n in within(text.tree(text.file(line)), FUNCTIONS) if n is not scope and last in mentioned(n)]
            again = others or text.in_a_loop(line) or any(part.startswith(f"{name}.assign") for part in later)
            if name in later and not again:  # it is read nowhere else
                below = f"`{new} = {value}; {name}.assign({new})`, and below `{new}` for `{name}`"
                return f"keep the new value in a tensor and compute with that: {below}"
    return "keep the new value in a tensor and compute with that; assign it afterwards"


def stopped_through(line: Line) -> tuple[ast.expr, str] | None:
    """Return `stop_gradient(q - x + x)` or `x + stop_gradient(q) - x`, with `x + stop_gradient(q - x)`; None without one."""
    for whole in within(text.statement(line), (ast.Call, ast.BinOp)):
        inner = whole.args[0] if isinstance(whole, ast.Call) and _is(whole, "stop_gradient") else whole
        added, taken = _terms(inner)
        both = [x for x in added if x in taken]
        others = [q for q in added if q not in taken]
        if len(added) == 2 and len(both) == len(taken) == len(others) == 1:
            stop = whole if inner is not whole else _parsed(others[0])
            if isinstance(stop, ast.Call) and _is(stop, "stop_gradient"):
                stopped = others[0] if stop is whole else ast.unparse(stop.args[0])
                return whole, f"{both[0]} + {ast.unparse(stop.func)}({stopped} - {both[0]})"
    return None


def _terms(node: ast.expr) -> tuple[list[str], list[str]]:
    """Return the added and the subtracted terms of a sum."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            (added, taken), (more, less) = _terms(left), _terms(right)
            return (added + more, taken + less) if isinstance(op, ast.Add) else (added + less, taken + more)
        case _:
            return [ast.unparse(node)], []


def argument_of(name: str, line: Line) -> tuple[ast.Call, str] | None:
    """Return the only call in the statement of a function whose name ends in `name`, and its arguments; else None."""
    calls = within(text.statement(line), ast.Call)
    found = [n for n in calls if ast.unparse(n.func).endswith(name) and n.args]
    return (found[0], ", ".join(map(ast.unparse, [*found[0].args, *found[0].keywords]))) if len(found) == 1 else None


def stable(line: Line) -> tuple[ast.expr, str] | None:
    """Return a formula, and the function call that computes it without overflow; else None.

    The formula is in the line, in another part of its statement, or in a later statement that uses the result.
    """
    own, name = text.expression_at(line), text.stored_name(line)
    later = [n for n in _after(line) if name is not None and name in mentioned(n)]
    for node in [part for n in (own, text.statement(line), *later) for part in within(n, (ast.Call, ast.BinOp, ast.Subscript))]:
        for formula, function in STABLE.items():
            found: dict[str, str] = {}
            if _fits(_parsed(formula), node, line, found):
                return node, ast.unparse(_parsed(_filled(function, found)))
    return None


def _filled(function: str, found: dict[str, str]) -> str:
    return re.sub(r"\b(?:x|rest)\b", lambda name: found[name[0]], function).replace(", )", ")")


def _parsed(code: str) -> ast.expr:
    return ast.parse(code, mode="eval").body


def _fits(formula: ast.AST, node: ast.expr, line: Line, found: dict[str, str]) -> bool:
    """Return whether an expression has the form of a formula; `found` collects the code for the formula's names.

    A variable in the user's code is replaced by its assigned value.
    """
    if isinstance(formula, ast.Name):
        written = f"({ast.unparse(node)})"
        return found.setdefault(formula.id, written) == written
    match formula, _meant(line, node):
        case ast.Constant(number), ast.Constant(same):
            return number == same
        case ast.UnaryOp(sign, operand), ast.UnaryOp(same, given):
            return type(sign) is type(same) and _fits(operand, given, line, found)
        case ast.BinOp(left, operator, right), ast.BinOp(first, same, second):
            return type(operator) is type(same) and _fits(left, first, line, found) and _fits(right, second, line, found)
        case ast.Subscript(operand, index), ast.Subscript(given, same):
            return ast.unparse(index) == ast.unparse(same) and _fits(operand, given, line, found)
        case ast.Call(func=ast.Name(name), args=[operand]), ast.Call(args=[given, *others], keywords=named) as call:
            found["rest"] = ", ".join(filter(None, [found.get("rest"), *map(ast.unparse, [*others, *named])]))
            return _is(call, name) and _fits(operand, given, line, found)
    return False


def _meant(line: Line, given: ast.expr) -> ast.expr:
    """Return an expression; for a name, return the last value assigned to it down to the line."""
    found = [n.value for n in _sets(line, ast.unparse(given)) if given not in ast.walk(n)]
    return found[-1] if found else given


def _sets(line: Line, name: str) -> list[ast.Assign]:
    """Return the statements that assign to a name down to a line, in its function."""
    above = [n for n in statements_of(scope_of(line)) if n.lineno <= (text.number(line) or 0)]
    return [n for n in above if isinstance(n, ast.Assign) and [*map(ast.unparse, n.targets)] == [name]]


def set_above(line: Line, name: str) -> Line:
    """Return the last line above a line that assigns to a name in its function; no line if none does."""
    found = [n.lineno for n in _sets(line, name) if n.lineno < (text.number(line) or 0)]
    return text.line_in(text.file(line) or "", found[-1]) if found else text.NO_LINE


def _after(line: Line) -> list[ast.stmt]:
    """Return the simple statements below a line in its function."""
    return [n for n in statements_of(scope_of(line)) if n.lineno > (text.number(line) or 0) and not hasattr(n, "body")]


def bounded(line: Line, op: str | None, at: int, code: str) -> tuple[ast.expr, str] | None:
    """Return the op's expression, and the same with `code`, a function of `x`, applied to the argument at a place.

    Without `op` it is the statement's only function of a matrix, `tf.linalg.…`.
    """
    found, parts = text.expression_at(line, op), text.parts(line, op)
    if op is None:
        calls = [n for n in within(text.statement(line), ast.Call) if ".linalg." in ast.unparse(n.func)]
        found, parts = (calls[0], calls[0].args) if len(calls) == 1 else (None, [])
    given = ast.unparse(parts[at]) if at < len(parts) else ""
    if found is None or not 0 < len(given) <= LONGEST_ARGUMENT:
        return None
    return found, _with(found, parts[at], re.sub(r"\bx\b", lambda _: f"({given})", code))


def _with(whole: ast.AST, part: ast.expr, code: str) -> str:
    """Return the source text of an expression or statement with a part replaced by code."""
    copies: dict[int, Any] = {}
    copied = copy.deepcopy(whole, copies)
    return ast.unparse(_Put(copies[id(part)], _parsed(code)).visit(copied))


def where_it_counts(line: Line, op: str | None) -> tuple[ast.expr, str] | None:
    """Return the op's expression in one side of a `where`, and the same with a harmless operand for the other side.

    The `where` is in the statement, or below and takes the statement's result.
    """
    found, name = text.expression_at(line, op), text.stored_name(line)
    operand = _operand(found)
    if found is None or operand is None:
        return None
    calls = [call for n in (text.statement(line), *_after(line)) for call in within(n, ast.Call)]
    for call in [n for n in calls if _is(n, "where") and len(n.args) == 3]:
        sides = [k for k in (1, 2) if ast.unparse(call.args[k]) == name or any(n is found for n in ast.walk(call.args[k]))]
        if sides:
            condition, value, safe = ast.unparse(call.args[0]), ast.unparse(operand), HARMLESS.get(op or "", 1.0)
            given = f"{value}, {safe}" if sides[0] == 1 else f"{safe}, {value}"
            return found, _with(found, operand, f"tf.where({condition}, {given})")
    return None


def root_below(line: Line) -> Line | None:
    """Return the root, norm or deviation that computes the line's denominator, as a line; else None."""
    match text.expression_at(line, realdiv.op.type):
        case ast.BinOp(right=below):
            calls = within(_meant(line, below), ast.Call)
            roots = [n for n in calls if re.search(r"(sqrt|norm|std)$", ast.unparse(n.func))]
            alone = text.line_in(text.file(line) or "", roots[0].lineno, text.span(roots[0])) if len(roots) == 1 else line
            return alone if roots else None
    return None


def off_the_gap(line: Line) -> tuple[ast.expr, str] | None:
    """Return a quotient whose two parts depend on one name, and the same a little beside the point where that is 0; else None.

    The denominator has to be a product or a power of that name and numbers, or an expression that the numerator has as it is.
    """
    match text.expression_at(line, realdiv.op.type):
        case ast.BinOp(above, operator, below) as whole:
            made, named = _meant(line, above), {ast.unparse(n) for n in within(below, NAMED)}
            named = {name for name in named if not re.match(r"(np|numpy|math|tf)\b|self$", name)}
            alone = named if len(named) == 1 and not within(below, (ast.Call, ast.Add, ast.Sub, ast.Subscript)) else ()
            inside = [*map(ast.unparse, within(made, (ast.BinOp, *NAMED)))]
            for both in [part for part in (ast.unparse(below), *alone) if part in inside]:
                beside = f"tf.where({both} == 0.0, {both} + 1e-3, {both})"
                written = ast.unparse(ast.BinOp(made, operator, below))
                return whole, re.sub(rf"(?<![\w.]){re.escape(both)}(?![\w.])", beside, written)
    return None


def _operand(node: ast.expr | None) -> ast.expr | None:
    """Return the operand to keep harmless: a function's argument, a denominator, a base or an exponent."""
    match node:
        case ast.Call(args=[operand, *others]):
            return others[0] if others and isinstance(operand, ast.Constant) else operand
        case ast.BinOp(left, ast.Div() | ast.Pow() as op, right):
            return right if isinstance(op, ast.Div) or isinstance(left, ast.Constant) else left
        case _:
            return None


def _is(call: ast.Call, name: str) -> bool:
    """Return whether a call is of a function named `name`: `tf.math.log` for `log`, `np.sum` or `tf.reduce_sum` for `sum`."""
    return re.fullmatch(rf"(?:reduce_)?{name}", ast.unparse(call.func).rpartition(".")[2]) is not None


class _Put(ast.NodeTransformer):
    def __init__(self, part: ast.AST, instead: ast.AST) -> None:
        self._part, self._instead = part, instead

    def visit(self, node: ast.AST) -> Any:
        return self._instead if node is self._part else self.generic_visit(node)


class _ToTensors(ast.NodeTransformer):
    """Rewrites code on arrays to code on tensors; `made` maps each rewritten outermost call to its new form.

    The names in `tensors` held arrays before, and those in `filled` lists of them; their methods are rewritten, too.
    """

    changed = unknown = False

    def __init__(self, tensors: set[str] = frozenset(), filled: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        self._tensors, self._filled, self.made = tensors, filled, dict[str, str]()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        before = ast.unparse(node)
        after = self._called(node, before)
        if (now := ast.unparse(after)) != before:
            self.made = {inner: made for inner, made in self.made.items() if inner not in before} | {before: now}
        return after

    def _called(self, node: ast.Call, before: str) -> ast.AST:
        mentioned = named_in(node) & self._tensors
        self.generic_visit(node)
        inside = ast.unparse(node) != before
        called = ast.unparse(node.func)
        root, _, name = called.partition(".")
        if root in ("np", "numpy", "math") and (mentioned or not self._tensors):
            return self._of_numpy(node, name)
        if called == "float" and len(node.args) == 1 and (mentioned or not self._tensors):
            self.changed = True
            return node.args[0]
        if called in ("tf.constant", "tf.convert_to_tensor") and self.changed:
            node.func = _parsed("tf.convert_to_tensor")
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("numpy", "item") and not node.args:
            self.changed = True
            return node.func.value
        method = node.func if isinstance(node.func, ast.Attribute) else None
        of_it = method is not None and named_in(method.value) & self._tensors
        if method is not None and (inside or of_it) and (changed := self._method(node, method)) is not None:
            return changed
        listed = method is not None and method.attr in LISTED
        if inside and not listed and root not in ("tf", *ITERATING):
            self.unknown = True  # a method of the former array, or a function that may need an array
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.unknown = True  # text has no derivative
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr != "T":
            return node
        return ast.Call(_parsed("tf.transpose"), [node.value], [])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        before, whole = ast.unparse(node.value), ast.unparse(node)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        arrays = all(isinstance(place, ast.Name) or ast.unparse(place).startswith("np.arange(") for place in places)
        if not places or not arrays or isinstance(node.ctx, ast.Store):
            return self.generic_visit(node)
        node.value = self.visit(node.value)
        if ast.unparse(node.value) == before and before not in self._tensors:
            return node
        now = f"tf.gather_nd({ast.unparse(node.value)}, tf.stack([{', '.join(map(ast.unparse, places))}], -1))"
        self.made[whole] = now  # this indexing works on arrays only
        return _parsed(now)

    def _method(self, node: ast.Call, method: ast.Attribute) -> ast.AST | None:
        """Return a method call on an array as a function call on the tensor; None for an unknown method."""
        name, array, written = method.attr, method.value, [ast.unparse(a).rpartition(".")[2].strip("'\"") for a in node.args]
        if isinstance(array, ast.Attribute) and ast.unparse(array).startswith(("tf.", "np.")):  # a module, not an array
            return None
        if name in METHODS:
            return ast.Call(_parsed(f"tf.{NUMPY[name]}"), [array, *node.args], node.keywords)
        if name == "astype" and len(written) == 1 and written[0] in FLOATING:
            dtype = "float64" if written[0] == "float" else written[0]
            return ast.Call(_parsed("tf.cast"), [array, _parsed(f"tf.{dtype}")], [])
        if name == "astype" and len(written) == 1 and "int" in written[0]:
            return array  # a cast to an integer would end the gradient
        if name in ("flatten", "ravel") and not node.args:
            return ast.Call(_parsed("tf.reshape"), [array, _parsed("[-1]")], [])
        if name == "reshape" and node.args:
            shape = node.args[0] if len(node.args) == 1 else ast.List(node.args, ast.Load())
            return ast.Call(_parsed("tf.reshape"), [array, shape], [])
        return array if name == "copy" and not node.args else None

    def _of_numpy(self, node: ast.Call, name: str) -> ast.AST:
        self.changed = True
        node.args = [_parsed(f"list({ast.unparse(a)})") if ast.unparse(a) in self._filled else a for a in node.args]
        if name in AS_IT_IS and 1 <= len(node.args) <= 2:  # the second is a dtype
            joined = isinstance(node.args[0], (ast.List, ast.ListComp)) or ast.unparse(node.args[0]).startswith("list(")
            return ast.Call(_parsed("tf.stack"), node.args[:1], []) if joined else node.args[0]
        if name in SAMPLED and len(node.args) >= 2:
            first, second = map(ast.unparse, node.args[:2])
            return _parsed(SAMPLED[name].format(first, second))
        if name == "dot" and len(node.args) == 2:  # vectors and matrices alike
            return ast.Call(_parsed("tf.tensordot"), [*node.args, ast.Constant(1)], [])
        if name not in NUMPY:
            self.unknown = True
            return node
        node.func, node.keywords = _parsed(f"tf.{NUMPY[name]}"), [k for k in node.keywords if k.arg != "dtype"]
        if name == "concatenate" and len(node.args) == 1 and not node.keywords:
            node.args.append(ast.Constant(0))  # NumPy's default axis; tf.concat has none
        return node
