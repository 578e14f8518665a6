"""Ops by type name, `tf.raw_ops`, as calls of public functions.

The table is `raw_ops.txt`, a line for each op:

    Sum gen_math_ops._sum math.reduce_sum input:input_tensor axis keep_dims:keepdims=False
    TopKV2 gen_nn_ops.top_kv2 math.top_k input k sorted=True index_type=int32 -> values indices

The op's type comes first, then TensorFlow's generated function and gradtape's public one. "=" means the op of the registry.
The parameters are TensorFlow's; the names of several results follow "->". The function may return more, which are left out.

The public function's name of a parameter follows ":". It is empty for a parameter that the operands determine, and "!" for one
of which only the default is supported. "+" precedes an argument that only the public function has.
`tests/signatures/raw_ops.py` compares the table with TensorFlow's ops.
"""

from __future__ import annotations

import ast
import collections
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gradtape
from gradtape._src.compat.names import missing
from gradtape._src.core.base.errors import UnimplementedError
from gradtape._src.core.base.public import public
from gradtape._src.core.programs.op import ops
from gradtape._src.core.values import dtypes

REFUSED = "!"  # replaces the public name of a parameter that supports only its default


class Row(NamedTuple):
    """A line of the table."""

    type: str
    generated: str  # module and name of TensorFlow's generated function, as in "gen_math_ops.add_v2"
    function: str
    parameters: dict[str, str]  # → the public function's name
    defaults: dict[str, Any]
    fixed: dict[str, Any]
    results: tuple[str, ...]


@functools.cache
def table() -> dict[str, Row]:
    """Return the rows of the table by op type."""
    lines = Path(__file__).with_name("raw_ops.txt").read_text("utf-8").splitlines()
    return {row.type: row for row in map(_row, lines)}


@functools.cache
def generated() -> dict[str, str]:
    """Return op types by the names of TensorFlow's generated functions."""
    return {row.generated: row.type for row in table().values()}


def _row(line: str) -> Row:
    head, _, results = line.partition(" -> ")
    kind, made, function, *rest = head.split(" ")
    parameters, defaults, fixed = {}, {}, {}
    for parameter in rest:
        said, _, default = parameter.partition("=")
        name, colon, target = said.partition(":")
        if name.startswith("+"):
            fixed[name[1:]] = ast.literal_eval(default)
            continue
        parameters[name] = target if colon else name
        if default:
            defaults[name] = getattr(dtypes, default, None) or ast.literal_eval(default)
    return Row(kind, made, function, parameters, defaults, fixed, tuple(results.split()))


@functools.cache
def function(type: str) -> Callable[..., Any]:
    """Return the function of an op in the table, with TensorFlow's parameters, positional or by name."""
    row = table()[type]
    given = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=row.defaults.get(name, inspect.Parameter.empty))
        for name in (*row.parameters, "name")
    ]
    given[-1] = given[-1].replace(default=None)
    signature = inspect.Signature(given)
    collected = collections.namedtuple(type, row.results) if row.results else None

    def call(*args: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{type} has the parameters {', '.join(signature.parameters)}: {error}.") from None
        bound.apply_defaults()
        if bound.arguments.get("padding") == "EXPLICIT":
            numbers = iter(bound.arguments["explicit_paddings"])
            bound.arguments |= {"padding": [list(pair) for pair in zip(numbers, numbers, strict=True)], "explicit_paddings": []}
        given_name = bound.arguments.pop("name")
        values = row.fixed | ({} if given_name is None else {"name": given_name})
        for name, value in bound.arguments.items():
            target = row.parameters[name]
            if target == REFUSED and value != row.defaults[name]:
                raise UnimplementedError(
                    None, None, f"{type} takes no {name} but {row.defaults[name]!r}, received {value!r}. Use tf.{row.function}."
                )
            if target and target != REFUSED:
                values[target] = value
        results = _target(row)(**values)
        if collected is None:
            return results
        found = [results] if isinstance(results, gradtape.Tensor) else list(results)[: len(row.results)]
        return collected(*found, *[gradtape.zeros([0], found[0].dtype)] * (len(row.results) - len(found)))

    call.__name__ = call.__qualname__ = type
    call.__doc__ = f"Compute the op {type}, as {_described(row)}."
    call.__signature__ = signature  # type: ignore[attr-defined]
    made: Callable[..., Any] = public(call)
    return made


def _target(row: Row) -> Callable[..., Any]:
    found: Any = ops[row.type].function if row.function == "=" else functools.reduce(getattr, row.function.split("."), gradtape)
    return found


def _described(row: Row) -> str:
    return "the registry has it" if row.function == "=" else f"`tf.{row.function}` does"


@functools.cache
def by_keywords(type: str) -> Callable[..., Any]:
    """Return the function of an op with keyword arguments only, as in `tf.raw_ops`."""
    made = function(type)

    @functools.wraps(made)
    def call(**named: Any) -> Any:
        return made(**named)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in inspect.signature(made).parameters.values()]
    vars(call)["__signature__"] = inspect.Signature(parameters)
    return public(call)


def named(name: str) -> Any:
    """Return the function of an op by its type, as the module's `__getattr__`."""
    return by_keywords(name) if name in table() else missing("gradtape.raw_ops")(name)


def listed() -> list[str]:
    """Return the names of `tf.raw_ops`: those of the table, and of the module."""
    return sorted({*table(), *(name for name in vars(gradtape.raw_ops) if not name.startswith("_"))})
