"""The source transformation (diastatic-malt) that turns `if`, `while` and `for` over tensors into ops.

The operators that transformed code calls are in this file and in `statements`. Statements that depend on no tensor run as Python
during the trace.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import sys
import textwrap
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from malt import operators
from malt.core import ag_ctx, converter
from malt.impl import api, conversion
from malt.lang import directives as malt_directives
from malt.pyct import anno, errors as malt_errors, inspect_utils

from gradtape._src.control import branch, branch_captures
from gradtape._src.control.bound_names import symbolic
from gradtape._src.control.dynamic_range import DynamicRange
from gradtape._src.control.mapping import map_fn
from gradtape._src.control.statements import for_stmt, if_stmt, while_stmt
from gradtape._src.core.base.errors import InvalidArgumentError
from gradtape._src.core.base.tracebacks import calls_for_user, internal
from gradtape._src.core.engine import constant_folding, engine
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array import cast, creation, extents
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.sort import argsort
from gradtape._src.ops.debugging import checks as debugging
from gradtape._src.ops.math import arithmetic, compare
from gradtape._src.ops.math.reduction import reduce_max, reduce_min

FEATURES = (converter.Feature.ASSERT_STATEMENTS, converter.Feature.BUILTIN_FUNCTIONS)
PREFIX = "tf__"  # the prefix of transformed functions, as in TensorFlow
OPTIONS = converter.ConversionOptions(recursive=True, user_requested=True, optional_features=FEATURES)


# ---------------------------------------------------------------------------------------------------------------------
# Conversion


class FunctionScope(operators.FunctionScope):
    """A malt scope that checks the results of transformed functions."""

    def ret(self, value: Any, did_return: Any) -> Any:
        """Return the result of a function; ValueError if a tensor decides whether it returns at all."""
        if symbolic(did_return) and value is not None:
            raise ValueError(
                "the else branch must also have a return statement: an `if` on a tensor, or a loop on tensors, returns a value "
                "here, and behind it the function ends without one. Put a `return` at the end of the function."
            )
        return super().ret(value, did_return)


class _CaughtErrors(ast.NodeTransformer):
    """Rewrite `except E as name:` to `except E:` and an assignment, since malt does not support names of handlers."""

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        if node.name is not None:
            node.body[:0] = ast.parse(f"{node.name} = ag__.caught()").body
            node.name = None
        return node


class _Shadows(ast.NodeTransformer):
    """Wrap inner functions whose parameter has the name of a variable that the outer function reads, in a function of their own.

    Without that, malt takes the parameter for a variable of the outer function, which is unbound there.
    """

    def __init__(self) -> None:
        self._outside: list[set[str]] = []  # for each enclosing function, the names that it reads but does not bind

    def _inner(self, node: Any) -> bool:
        """Visit a function; return whether one of its parameters shadows an outer name."""
        names = {x.arg for x in ast.walk(node.args) if isinstance(x, ast.arg)}
        shadows = bool(self._outside) and not names.isdisjoint(self._outside[-1])
        used = [x for part in _own(node) for x in part]
        bound = names | {x.id for x in used if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Load)}
        self._outside.append({x.id for x in used if isinstance(x, ast.Name)} - bound)
        self.generic_visit(node)
        self._outside.pop()
        return shadows

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        if not self._inner(node):
            return node
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.fix_missing_locations(ast.copy_location(ast.Call(ast.Lambda(nothing, node), [], []), node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        if not self._inner(node):
            return node
        parsed = ast.parse(f"def {node.name}__made(): return {node.name}\n{node.name} = {node.name}__made()")
        for x in ast.walk(parsed):
            ast.copy_location(x, node)
        maker, call = parsed.body
        assert isinstance(maker, ast.FunctionDef)
        maker.body.insert(0, node)
        return [maker, call]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def _own(node: ast.AST) -> Iterator[list[ast.AST]]:
    """Yield the nodes of a function level by level, without the nodes of inner functions."""
    level = list(ast.iter_child_nodes(node))
    while level:
        yield level
        level = [x for n in level if not isinstance(n, (ast.Lambda, ast.FunctionDef)) for x in ast.iter_child_nodes(n)]


class _LoopOptions(ast.NodeTransformer):
    """Pass `set_loop_options(maximum_iterations=…)` inside of a loop to malt, which passes it to the loop's operator."""

    def _noted(self, node: Any) -> Any:
        self.generic_visit(node)
        for statement in node.body:
            call = getattr(statement, "value", None)
            if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) == "set_loop_options":
                options = {k.arg: copy.deepcopy(k.value) for k in call.keywords if k.arg == "maximum_iterations"}
                if options:
                    anno.setanno(node, anno.Basic.DIRECTIVES, {malt_directives.set_loop_options: options})
        return node

    visit_For = visit_While = _noted


def caught() -> BaseException | None:
    """Return the exception that the user's `except` block handles."""
    return sys.exc_info()[1]


class Transpiler(api.PyToPy):
    """Transforms functions, and maps the lines of the result to the user's file."""

    def __init__(self) -> None:
        super().__init__()
        self._namespace: dict[str, Any] | None = None

    def get_transformed_name(self, node: Any) -> str:
        """Return the name of a transformed function, as in TensorFlow."""
        return PREFIX + super().get_transformed_name(node).removeprefix("ag__")

    def get_extra_locals(self) -> dict[str, Any]:
        """Return the globals of transformed code, including `ag__`."""
        if self._namespace is None:
            self._namespace = super().get_extra_locals()
            vars(self._namespace["ag__"]).update(
                {
                    "FunctionScope": FunctionScope,
                    "if_stmt": if_stmt,
                    "while_stmt": while_stmt,
                    "for_stmt": for_stmt,
                    "if_exp": if_exp,
                    "and_": and_,
                    "or_": or_,
                    "not_": not_,
                    "assert_stmt": assert_stmt,
                    "converted_call": converted_call,
                    "caught": caught,
                }
            )
        return self._namespace

    def transform_ast(self, node: Any, ctx: Any) -> Any:
        """Return the transformed tree of a function."""
        return super().transform_ast(_LoopOptions().visit(_Shadows().visit(_CaughtErrors().visit(node))), ctx)


_transpiler = Transpiler()
_relocated: dict[tuple[types.CodeType, str, int], types.CodeType] = {}


def transformed(function: Any) -> Any:
    """Transform a plain Python function: operators of this file replace its statements."""
    made, _, source_map = _transpiler.transform(_of_a_module(function), converter.ProgramContext(options=OPTIONS))
    file, first = str(function.__code__.co_filename), function.__code__.co_firstlineno
    key = made.__code__, file, first  # two functions with equal text are transformed to equal code
    code = _relocated.get(key)
    if code is None:
        lines = {at.lineno: origin.loc.lineno for at, origin in source_map.items() if origin.loc.filename == file}
        code = _relocated[key] = relocated(made.__code__, lines, file, first)
    made.__code__ = code
    return made


def relocated(code: types.CodeType, lines: Mapping[int, int], filename: str, default: int) -> types.CodeType:
    """Move `code`, and all code nested in it, to other lines: line n becomes `lines[n]` of `filename`, for tracebacks."""
    constants = tuple([relocated(c, lines, filename, default) if isinstance(c, types.CodeType) else c for c in code.co_consts])
    first = lines.get(code.co_firstlineno, default)
    table, current = bytearray(), first
    mapped = first
    for start, end, line in code.co_lines():
        if line is not None:
            mapped = lines.get(line, mapped)
        units = (end - start) // 2
        delta = mapped - current
        current = mapped
        while units > 0:
            count = min(units, 8)
            # An entry of kind 13, "no column": a line delta (PEP 657; CPython's Objects/locations.md).
            table += bytes([0x80 | 13 << 3 | count - 1]) + _signed(delta)
            delta = 0
            units -= count
    return code.replace(
        co_name=code.co_name.removeprefix(PREFIX),
        co_filename=filename,
        co_firstlineno=first,
        co_linetable=bytes(table),
        co_consts=constants,
    )


def _signed(value: int) -> bytes:
    number = -value << 1 | 1 if value < 0 else value << 1
    result = bytearray()
    while number >= 64:
        result.append(64 | number & 63)
        number >>= 6
    result.append(number)
    return bytes(result)


def source_of(function: Any, features: Sequence[str] = ()) -> str:
    """Return the generated source of a function, transformed with these optional features."""
    chosen = [converter.Feature[name] for name in features]
    options = converter.ConversionOptions(recursive=True, user_requested=True, optional_features=chosen)
    made, *_ = _transpiler.transform(_of_a_module(function), converter.ProgramContext(options=options))
    return textwrap.dedent(inspect.getsource(made))


def _of_a_module(function: Any) -> Any:
    """Return a lambda defined in a script with an importable `__module__`, since malt looks the module up."""
    if not inspect_utils.islambda(function) or inspect.getmodule(function) is not None:
        return function
    code, defaults = function.__code__, function.__defaults__
    copy = types.FunctionType(code, function.__globals__, function.__name__, defaults, function.__closure__)
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, "builtins"
    return copy


def switched_off() -> bool:
    """Return whether this thread runs a function marked by `do_not_convert`."""
    return bool(ag_ctx.control_status_ctx().status == ag_ctx.Status.DISABLED)


def converted(function: Any) -> Any:
    """Wrap `function` so that its source is transformed at the first call. A function without source is called unchanged."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with ag_ctx.ControlStatusCtx(ag_ctx.Status.ENABLED):
            return converted_call(function, args, kwargs, options=OPTIONS)

    return call


OURS = ("gradtape", "tensorflow", "keras", "jax", "optree", "numpy", "malt", "grain", "keras_gradtape", "sklearn", "scipy")


# The results of `_stays`: a function that runs as eager code asks for them in each call.
_verdicts: weakref.WeakKeyDictionary[types.FunctionType, bool] = weakref.WeakKeyDictionary()


def _as_it_is(function: Any) -> bool:
    """Return whether a function is called untransformed: one of a library, or one marked by `do_not_convert`."""
    if type(function) is not types.FunctionType:
        return _stays(function)
    known = _verdicts.get(function)
    if known is None:
        known = _verdicts[function] = _stays(function)
    return known


def _stays(function: Any) -> bool:
    if getattr(function, "autograph_info__", None) is not None:
        return True
    module = getattr(function, "__module__", None) or getattr(type(function), "__module__", "") or ""
    if module.split(".")[0] in OURS:
        return True
    return bool(conversion.is_unsupported(function) or conversion.is_allowlisted(function))


def _readable(file: str) -> bool:
    """Return whether a file is user code with readable source, including notebook cells (`<ipython-input-3-…>`)."""
    return not internal[file] and (not file.startswith("<") or bool(linecache.getlines(file)))


@calls_for_user
def converted_call(function: Any, args: Any, kwargs: Any, caller_fn_scope: Any = None, options: Any = None) -> Any:
    """Call `function` from transformed code: builtins on tensors become ops, user functions are transformed too."""
    kwargs = kwargs or {}
    if switched_off():
        return function(*args, **kwargs)
    if isinstance(function, functools.partial):
        return converted_call(function.func, (*function.args, *args), {**function.keywords, **kwargs}, caller_fn_scope, options)
    if inspect_utils.isbuiltin(function):
        return _builtin(function, args, kwargs, caller_fn_scope)
    if function is creation.range_ and any(symbolic(a) for a in (*args, *kwargs.values())):
        return _range_of_tensors(*args, **kwargs)
    if _as_it_is(function):
        return function(*args, **kwargs)
    target, arguments = function, args
    if inspect.ismethod(function):
        target, arguments = function.__func__, (function.__self__, *args)
    elif not inspect.isfunction(function):
        target = getattr(type(function), "__call__", None)  # noqa: B004
        if not inspect.isfunction(target) or _as_it_is(target):
            return function(*args, **kwargs)
        arguments = (function, *args)
    if not inspect.isfunction(target) or not _readable(target.__code__.co_filename):
        return function(*args, **kwargs)
    try:
        made = transformed(target)
    except (malt_errors.PyCTError, NotImplementedError, SyntaxError, OSError, ValueError, TypeError, AssertionError):
        # Without source, or with a statement that malt does not support, the function is called as it is.
        return function(*args, **kwargs)
    return made(*arguments, **kwargs)


# ---------------------------------------------------------------------------------------------------------------------
# Builtins


def _builtin(function: Any, args: Any, kwargs: Any, caller: Any) -> Any:
    found = _builtins.get(function) if any(symbolic(a) for a in args) else None
    if found is not None:
        return found(*args, **kwargs)
    if function is len and len(args) == 1 and hasattr(args[0], "cardinality"):
        return _cardinality(args[0])
    if function is super:
        return operators.py_builtins.super_in_original_context(function, args, caller)
    if function is eval:
        return operators.py_builtins.eval_in_original_context(function, args, caller)
    if function is globals:
        return operators.py_builtins.globals_in_original_context(caller)
    if function is locals:
        return operators.py_builtins.locals_in_original_context(caller)
    return function(*args, **kwargs)


def _length(x: Any) -> Any:
    if not x.ndim:
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {x.shape}.")
    rows = x.get_shape()[0]  # an unknown extent is None here, unlike in `shape`
    return extents.shape(x)[0] if rows is None else rows


def _cardinality(dataset: Any) -> np.int64:
    """Return the length of a Dataset, an int64 in a function."""
    try:
        return np.int64(len(dataset))
    except TypeError as error:
        raise InvalidArgumentError.saying(f"len requires dataset with definitive cardinality: {error}") from None


def _sorted(x: Any, key: Any = None, reverse: bool = False) -> Any:
    by = x if key is None else map_fn(key, x, fn_output_signature=key(x[0]).dtype)
    if by.ndim != 1:
        raise ValueError(f"sort only supports only 1D tensors, got one of shape {by.shape}.")
    return gather(x, argsort(by, direction="DESCENDING" if reverse else "ASCENDING", stable=True))


def _to_float(x: Any) -> Any:
    return cast.cast(x, dtypes.float32)


def _to_int(x: Any, base: int = 10) -> Any:
    if base != 10:
        raise NotImplementedError(f"base {base} not supported for int of a tensor")
    return cast.cast(x, dtypes.int32)


def _largest(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1:
        return reduce_max(args[0])
    return functools.reduce(arithmetic.maximum, args)


def _smallest(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1:
        return reduce_min(args[0])
    return functools.reduce(arithmetic.minimum, args)


def _range_of_tensors(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None) -> Any:
    """Return `tf.range` of tensors: a tensor if the bounds are known, else a DynamicRange."""
    bounds = [tensor(b).node for b in (start, limit, delta) if is_tensor(b)]
    if all(constant_folding.folded(node) is not None or engine.integers(node) is not None for node in bounds):
        return creation.range_(start, limit, delta, dtype)
    if limit is None:
        start, limit = 0, start
    kind = dtype or next(b.dtype for b in (start, limit, delta) if is_tensor(b))
    return DynamicRange(cast.cast(start, kind), cast.cast(limit, kind), cast.cast(delta, kind))


_builtins: dict[Any, Callable[..., Any]] = {
    len: _length,
    float: _to_float,
    int: _to_int,
    abs: arithmetic.abs,
    max: _largest,
    min: _smallest,
    range: _range_of_tensors,
    sorted: _sorted,
}

# ---------------------------------------------------------------------------------------------------------------------
# Logic


def and_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """Evaluate `a() and b()`; if `a()` is a tensor, `b` is always evaluated."""
    first = a()
    if symbolic(first):
        return compare.logical_and(_truth(first), b())
    return first and b()


def or_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """Evaluate `a() or b()`; if `a()` is a tensor, `b` is always evaluated."""
    first = a()
    if symbolic(first):
        return compare.logical_or(_truth(first), b())
    return first or b()


def _truth(value: Any) -> Any:
    """Return an operand of `and`, `or` or `not`; InvalidArgumentError unless it is a bool tensor."""
    if value.dtype != dtypes.bool:
        raise InvalidArgumentError.saying(f"`and` and `or` take bool tensors, received {value.dtype.name}: compare it.")
    return value


def not_(a: Any) -> Any:
    """Evaluate `not a`."""
    return compare.logical_not(a) if symbolic(a) else not a


def assert_stmt(expression: Any, message: Callable[[], Any]) -> None:
    """Run `assert expression, message()`; a tensor is checked at each call of the function."""
    if symbolic(expression):
        debugging.Assert(expression, [message()])
    else:
        assert expression, message()


def if_exp(condition: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], text: str) -> Any:
    """Evaluate `if_true() if condition else if_false()`."""
    if symbolic(condition):
        return branch.cond(condition, if_true, if_false)
    return (
        branch_captures.chosen(condition, if_true, [if_false])
        if condition
        else branch_captures.chosen(condition, if_false, [if_true])
    )
