"""A statement of the user's with tensors all the way: `np.exp(x.numpy())` becomes `tf.exp(x)`."""

from __future__ import annotations

import ast
import copy
import re

from gradtape._src.core.journal import Line
from gradtape._src.explain import source as text

# What NumPy's functions are called as TensorFlow's, where the arguments mean the same.
NUMPY = {
    "mean": "reduce_mean", "sum": "reduce_sum", "max": "reduce_max", "min": "reduce_min", "amax": "reduce_max",
    "amin": "reduce_min", "prod": "reduce_prod", "concatenate": "concat", "power": "pow", "clip": "clip_by_value",
    "var": "math.reduce_variance", "std": "math.reduce_std", "einsum": "einsum", "fft.fft": "signal.fft",
    "fft.ifft": "signal.ifft", "fft.rfft": "signal.rfft", "fft.irfft": "signal.irfft",
    "diag": "linalg.diag", "trace": "linalg.trace", "log": "math.log", "log1p": "math.log1p", "absolute": "abs",
    "expm1": "math.expm1", "cumsum": "cumsum", "acos": "acos", "asin": "asin", "atan": "atan", "atan2": "atan2",
    "erf": "math.erf", "fabs": "abs", "lgamma": "math.lgamma",
} | {
    name: name for name in (
        "abs", "exp", "sqrt", "square", "sin", "cos", "tan", "tanh", "sinh", "cosh", "maximum", "minimum", "where", "reshape",
        "transpose", "stack", "expand_dims", "squeeze", "matmul", "multiply", "add", "subtract", "divide", "sign", "round",
    )
} | {"linalg.norm": "norm", "linalg.inv": "linalg.inv", "linalg.det": "linalg.det"}  # fmt: skip
METHODS = {  # of an array
    "mean": "reduce_mean", "sum": "reduce_sum", "max": "reduce_max", "min": "reduce_min", "prod": "reduce_prod",
    "std": "math.reduce_std", "var": "math.reduce_variance", "squeeze": "squeeze", "transpose": "transpose",
    "clip": "clip_by_value",
}  # fmt: skip
LOGARITHMS = {"softmax": "tf.nn.log_softmax", "sigmoid": "tf.math.log_sigmoid"}  # of what has one of its own
ITERATING = ("list", "map", "zip", "enumerate", "tuple", "reversed")  # which take tensors as they take arrays
HARMLESS = {"Acos": 0.0, "Asin": 0.0, "Atanh": 0.0, "Acosh": 2.0}  # where 1 is at the edge
FLOATING = {"float", "float16", "float32", "float64"}
AS_IT_IS = {"float16", "float32", "float64", "asarray", "array", "atleast_1d"}  # of a tensor: the tensor


def with_tensors(line: Line) -> str | None:
    """Rewrite the statement without NumPy, `.numpy()` and `float()`; None if it takes more than that."""
    found = text.statement(line)
    if not isinstance(found, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)):
        return None
    change = _ToTensors()
    changed = ast.unparse(ast.fix_missing_locations(change.visit(ast.parse(ast.unparse(found)))))
    return changed if change.changed and not change.unknown else None


def array_uses(line: Line, scope: ast.AST) -> list[tuple[str, str]]:
    """Return what a function does, behind a line, with the array that the line gives a name, each with what a tensor wants."""
    name, at = text.target(line), text.number(line) or 0
    found: dict[str, str] = {}
    calls = [n for n in ast.walk(scope) if isinstance(n, ast.Call) and n.lineno > at]
    for call in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):
        method = call.func
        if not isinstance(method, ast.Attribute):
            continue
        of_it = [part for part in [method.value, *call.args] if isinstance(part, ast.Name) and part.id == name]
        before = ast.unparse(call)
        changed = _ToTensors().visit(ast.parse(before, mode="eval").body) if of_it else call
        if of_it and of_it[0] is method.value:
            changed = _ToTensors()._method(call, method) or call
        written = ast.unparse(changed)
        if written not in (before, name):
            found.setdefault(before, written)
    return list(found.items())


def without_call(line: Line) -> str | None:
    """Rewrite the statement with the argument in the place of the call that a line stands for; None where that is not known."""
    found, (at, _, column, _) = text.statement(line), text.position(line)
    if not isinstance(found, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)):
        return None
    called = [n for n in ast.walk(found) if isinstance(n, ast.Call) and ast.unparse(n.func).endswith("stop_gradient") and n.args]
    if len(called) > 1:
        called = [n for n in called if (n.lineno, n.col_offset) == (at, column)]
    if len(called) != 1:
        return None
    whole = ast.unparse(_Without(called[0]).visit(copy.deepcopy(found)))
    return whole if len(whole) <= text.LONGEST and "\n" not in whole else None


def stopped_through(line: Line) -> tuple[ast.Call, str] | None:
    """Return `stop_gradient(x + (q - x))`, which stops all of it, and `x + stop_gradient(q - x)`; None for anything else."""
    found = text.statement(line)
    for call in ast.walk(found) if found is not None else ():
        match call:
            case ast.Call(func=function, args=[ast.BinOp(x, ast.Add(), ast.BinOp(q, ast.Sub(), again))]):
                pass
            case ast.Call(func=function, args=[ast.BinOp(ast.BinOp(x, ast.Add(), q), ast.Sub(), again)]):
                pass
            case _:
                continue
        if ast.unparse(function).endswith("stop_gradient") and ast.unparse(x) == ast.unparse(again):
            return call, f"{ast.unparse(x)} + {ast.unparse(function)}({ast.unparse(q)} - {ast.unparse(x)})"
    return None


def argument_of(name: str, line: Line) -> tuple[ast.Call, str] | None:
    """Return the only call, in the statement of a line, of a function with such a name, and its arguments; else None."""
    calls = [n for n in ast.walk(text.statement(line) or ast.Module([], [])) if isinstance(n, ast.Call)]
    found = [n for n in calls if ast.unparse(n.func).rpartition(".")[2].endswith(name) and n.args]
    return (found[0], ", ".join(map(ast.unparse, [*found[0].args, *found[0].keywords]))) if len(found) == 1 else None


def stable(line: Line) -> tuple[ast.expr, str] | None:
    """Return a formula of the statement, and the function, with its argument, that computes it without overflow; else None."""
    for node in ast.walk(text.statement(line) or ast.Module([], [])):
        match node:
            case ast.Call(args=[ast.BinOp(ast.Constant(1 | 1.0), ast.Add(), ast.Call(args=[x]) as inner)]) if _is(node, "log"):
                if _is(inner, "exp"):
                    return node, f"tf.math.softplus({ast.unparse(x)})"
            case ast.Call(args=[ast.Call(args=[x]) as inner]) if _is(node, "log1p") and _is(inner, "exp"):
                return node, f"tf.math.softplus({ast.unparse(x)})"
            case ast.Call(args=[ast.Call(args=[x, *_]) as inner]) if _is(node, "log"):
                for name, instead in LOGARITHMS.items():
                    if _is(inner, name):
                        return node, f"{instead}({', '.join(map(ast.unparse, [*inner.args, *inner.keywords]))})"
            case ast.BinOp(
                ast.Constant(1 | 1.0), ast.Div(), ast.BinOp(ast.Constant(1 | 1.0), ast.Add(), ast.Call(args=[x]) as inner)
            ):
                if _is(inner, "exp") and isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.USub):
                    return node, f"tf.sigmoid({ast.unparse(x.operand)})"
            case ast.BinOp(ast.Call(args=[x]) as above, ast.Div(), ast.Call(args=[below, *_]) as total):
                if _is(above, "exp") and _is(total, "sum") and ast.unparse(below) == ast.unparse(above):
                    return node, f"tf.nn.softmax({ast.unparse(x)})"
    return None


def where_it_counts(line: Line, op: str | None) -> str | None:
    """Rewrite what the op computes in one side of a `where`, with a harmless value where the other side is taken; else None."""
    at = text.position(line)
    whole = list(ast.walk(text.statement(line) or ast.Module([], [])))
    found = [
        n for n in whole if isinstance(n, ast.expr) and (n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) == tuple(at)
    ]
    chosen = [n for n in whole if isinstance(n, ast.Call) and _is(n, "where") and len(n.args) == 3]
    for call in chosen if found else []:
        side = next((k for k in (1, 2) if any(n is found[0] for n in ast.walk(call.args[k]))), None)
        operand = _operand(found[0])
        if side is not None and operand is not None:
            condition, value, safe = ast.unparse(call.args[0]), ast.unparse(operand), HARMLESS.get(op or "", 1.0)
            given = f"{value}, {safe}" if side == 1 else f"{safe}, {value}"
            written, before = ast.unparse(found[0]), ast.unparse(operand)
            return written.replace(before, f"tf.where({condition}, {given})", 1) if written.count(before) == 1 else None
    return None


def _operand(node: ast.expr) -> ast.expr | None:
    """Return what has to be kept harmless: the argument of a function, a denominator, a base or exponent."""
    match node:
        case ast.Call(args=[operand, *others]):
            return others[0] if others and isinstance(operand, ast.Constant) else operand
        case ast.BinOp(left, ast.Div() | ast.Pow() as op, right):
            return right if isinstance(op, ast.Div) or isinstance(left, ast.Constant) else left
        case _:
            return None


def _is(call: ast.Call, name: str) -> bool:
    """Return whether a call is of a function of that name, as `tf.math.log`, `np.log` and `reduce_log` are of `log`."""
    return re.fullmatch(rf"(?:\w+_)?{name}", ast.unparse(call.func).rpartition(".")[2]) is not None


class _Without(ast.NodeTransformer):
    def __init__(self, call: ast.Call) -> None:
        self._at, self._written = (call.lineno, call.col_offset), ast.unparse(call)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if (node.lineno, node.col_offset) == self._at and ast.unparse(node) == self._written:
            return node.args[0]
        self.generic_visit(node)
        return node


class _ToTensors(ast.NodeTransformer):
    changed = unknown = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        before = ast.unparse(node)
        self.generic_visit(node)
        inside = ast.unparse(node) != before
        called = ast.unparse(node.func)
        root, _, name = called.partition(".")
        if root in ("np", "numpy", "math"):
            return self._of_numpy(node, name)
        if called == "float" and len(node.args) == 1:
            self.changed = True
            return node.args[0]
        if called in ("tf.constant", "tf.convert_to_tensor") and self.changed:
            node.func = ast.parse("tf.convert_to_tensor", mode="eval").body
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("numpy", "item") and not node.args:
            self.changed = True
            return node.func.value
        if inside and isinstance(node.func, ast.Attribute) and (method := self._method(node, node.func)) is not None:
            return method
        if inside and root not in ("tf", *ITERATING):
            self.unknown = True  # a method of what was an array, or a function that may want one
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr != "T":
            return node
        return ast.Call(ast.parse("tf.transpose", mode="eval").body, [node.value], [])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        before = ast.unparse(node.value)
        self.generic_visit(node)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if ast.unparse(node.value) == before or not places or not all(isinstance(place, ast.Name) for place in places):
            return node
        return ast.parse(  # an array takes elements so, a tensor does not
            f"tf.gather_nd({ast.unparse(node.value)}, tf.stack([{', '.join(map(ast.unparse, places))}], -1))", mode="eval"
        ).body

    def _method(self, node: ast.Call, method: ast.Attribute) -> ast.AST | None:
        """Return a call of an array's method as that of a function of the tensor; None for one that is not known."""
        name, array, written = method.attr, method.value, [ast.unparse(a).rpartition(".")[2].strip("'\"") for a in node.args]
        if isinstance(array, ast.Attribute) and ast.unparse(array).startswith(("tf.", "np.")):  # a module
            return None
        if name in METHODS:
            return ast.Call(ast.parse(f"tf.{METHODS[name]}", mode="eval").body, [array, *node.args], node.keywords)
        if name == "astype" and len(written) == 1 and written[0] in FLOATING:
            dtype = "float64" if written[0] == "float" else written[0]
            return ast.Call(ast.parse("tf.cast", mode="eval").body, [array, ast.parse(f"tf.{dtype}", mode="eval").body], [])
        if name == "astype" and len(written) == 1 and "int" in written[0]:
            return array  # the cast alone would end the gradient
        if name in ("flatten", "ravel") and not node.args:
            return ast.Call(ast.parse("tf.reshape", mode="eval").body, [array, ast.parse("[-1]", mode="eval").body], [])
        if name == "reshape" and node.args:
            shape = node.args[0] if len(node.args) == 1 else ast.List(node.args, ast.Load())
            return ast.Call(ast.parse("tf.reshape", mode="eval").body, [array, shape], [])
        return array if name == "copy" and not node.args else None

    def _of_numpy(self, node: ast.Call, name: str) -> ast.AST:
        self.changed = True
        if name in AS_IT_IS and len(node.args) == 1:
            joined = isinstance(node.args[0], (ast.List, ast.ListComp)) or ast.unparse(node.args[0]).startswith("list(")
            return ast.Call(ast.parse("tf.stack", mode="eval").body, node.args, []) if joined else node.args[0]
        if name in ("random.normal", "random.uniform") and len(node.args) >= 2:
            return _sampled(name, *map(ast.unparse, node.args[:2]))
        if name not in NUMPY:
            self.unknown = True
            return node
        node.func = ast.parse(f"tf.{NUMPY[name]}", mode="eval").body
        if name == "concatenate" and len(node.args) == 1 and not node.keywords:
            node.args.append(ast.Constant(0))  # NumPy's default: tf.concat has none
        return node


def _sampled(name: str, first: str, second: str) -> ast.AST:
    """Return a sample as a function of its parameters and of noise that does not depend on them."""
    if name == "random.normal":
        return ast.parse(f"{first} + ({second}) * tf.random.normal(tf.shape({first}))", mode="eval").body
    return ast.parse(f"{first} + ({second} - ({first})) * tf.random.uniform(tf.shape({first}))", mode="eval").body
