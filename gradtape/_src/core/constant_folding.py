"""Constants that are computed while a function or graph is traced: numbers, and integers of extents that are not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core import execution, xla
from gradtape._src.core.arrays import jnp
from gradtape._src.core.aval import Aval, aval
from gradtape._src.core.dim import dims
from gradtape._src.core.op import Op, define
from gradtape._src.core.program import Node, effectful

MOST = 200  # so many ops are looked through
SMALL = 50  # of a constant that is computed while a function is traced: ops, and elements of each
Known = tuple[np.ndarray, bool]  # a value, and whether it may change from run to run


def _count(*rows: Any, count: int | None) -> Any:
    return jnp.arange(rows[0].shape[0] if count is None else count, dtype=jnp.int64)


def _count_aval(*rows: Aval, count: int | None) -> Aval:
    return aval((rows[0].shape[0] if count is None else count,), np.dtype(np.int64))


# The numbers below `count`, or those of the rows of its input.
COUNT = define(Op("Count", _count, infer=_count_aval, reason="it gives integers"))
# An extent as a number.
EXTENT = define(
    Op(
        "Extent",
        lambda *, extent, dtype: jnp.array(extent, dtype),
        infer=lambda *, extent, dtype: aval((), dtype),
        cheap=True,
        reason="it has no inputs",
    )
)


def _window(input: Any, *begin: Any, axes: Any, sizes: Any, strides: Any, shape: Any) -> Any:
    index: list[Any] = [slice(0, size) for size in sizes]
    for axis, start in zip(axes, begin, strict=True):
        index[axis] = slice(int(start), int(start) + sizes[axis])
    taken = input[tuple(index)]
    taken = taken[tuple([slice(None, None, stride) for stride in strides])]
    return taken.reshape(shape)


RULES: dict[str, Callable[..., Any]] = {
    "AddV2": lambda x, y: x + y,
    "Cast": lambda x, **_: x,
    "ConcatV2": lambda *values, axis: np.concatenate(values, axis),
    "Equal": lambda x, y, **_: x == y,
    "ExpandDims": lambda input, axis: np.expand_dims(input, axis),
    "FloorDiv": lambda x, y: x // y,
    "FloorMod": lambda x, y: x % y,
    "Greater": lambda x, y: x > y,
    "GreaterEqual": lambda x, y: x >= y,
    "Identity": lambda input: input,
    "Less": lambda x, y: x < y,
    "LessEqual": lambda x, y: x <= y,
    "LogicalAnd": lambda x, y: x & y,
    "LogicalNot": lambda x: ~x,
    "LogicalOr": lambda x, y: x | y,
    "Maximum": lambda x, y: np.maximum(x, y),
    "Minimum": lambda x, y: np.minimum(x, y),
    "Mul": lambda x, y: x * y,
    "Neg": lambda x: -x,
    "NotEqual": lambda x, y, **_: x != y,
    "Pack": lambda *values, axis: np.stack(values, axis),
    "Prod": lambda input, axis, keepdims: np.prod(input, axis=axis, keepdims=keepdims),
    "Reshape": lambda tensor, shape: tensor.reshape(shape),
    "Squeeze": lambda input, axis: np.squeeze(input, axis or None),
    "StopGradient": lambda input: input,
    "StridedSlice": _window,
    "Sub": lambda x, y: x - y,
    "Sum": lambda input, axis, keepdims: np.sum(input, axis=axis, keepdims=keepdims),
}


def unstated(node: Node) -> Known | None:
    """Return what is known of a node besides: nothing."""
    return None


def integers(node: Node, stated: Callable[[Node], Known | None] = unstated) -> Known | None:
    """Return `(array, whether it may change from run to run)`, or None if the value depends on more than shapes and constants.

    The array is of int64 or, where extents are not known, of symbols. `stated` says what a node is whatever it is made of.
    """
    order: dict[Node, None] = {}
    values: dict[Node, Known] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        if current.value is not None:
            values[current] = wide(current.value), False
        elif (found := stated(current)) is not None:
            values[current] = found
        elif len(order) > MOST or current.op is None or type(current.aval) is tuple:
            return None
        else:
            order.pop(current, None)
            order[current] = None
            if current.op.type in RULES:
                stack.extend(current.inputs)
    for current in reversed(order):
        found = _value(current, values)
        if found is None:
            return None
        values[current] = found
    return values[node]


def _value(node: Node, values: dict[Node, Known]) -> Known | None:
    op = node.op
    if op is EXTENT:
        return np.array(node.attrs[0], object), True
    if op.type in ("Shape", "Size"):
        source = node.inputs[0].aval
        kind = object if source.open else np.int64
        return np.array(source.shape if op.type == "Shape" else source.size, kind), source.open
    rule = RULES.get(op.type)
    if rule is None:
        return None
    inputs = [values[i] for i in node.inputs]
    attributes = dict(zip(op.attributes, node.attrs, strict=True))
    return np.asarray(rule(*[array for array, _ in inputs], **attributes)), any(changes for _, changes in inputs)


def wide(array: Any) -> np.ndarray:
    """Return an array whose integers are of int64."""
    array = np.asarray(array)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def folded(node: Node, numbers: bool = False) -> np.ndarray | None:
    """Return the value of a small node of a function's trace that depends on constants alone, else None.

    With `numbers` extents that are not known are constants, too: those of the call, or others that are supposed.
    """
    order: dict[Node, None] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        if current.value is None:
            if current.trace is None or current.trace.scope is None or type(current.aval) is tuple:
                return None
            if current.aval.open or effectful(current.key) or current.aval.size > SMALL or len(order) > SMALL:
                return None
            if dims(current.attrs) and not (numbers and current.op is EXTENT):
                return None
            order.pop(current, None)
            order[current] = None
            if not current.op.of_shapes:
                stack.extend(current.inputs)
            elif not numbers and any(i.aval.open for i in current.inputs):
                return None
    values: dict[Node, Any] = {}
    for current in reversed(order):
        op, attrs = current.op, current.attrs
        if op.of_shapes:
            inputs = [np.broadcast_to(np.zeros((), i.aval.dtype), [*map(int, i.aval.shape)]) for i in current.inputs]
            with xla.wide():
                values[current] = np.asarray(op.run(inputs, attrs))
            continue
        inputs = [values[i] if i.value is None else i.value for i in current.inputs]
        if op is EXTENT:
            values[current] = np.array(int(attrs[0]), attrs[1])
        elif op.on_host:
            values[current] = op.run(inputs, attrs)
        else:
            avals = tuple([i.aval for i in current.inputs])
            values[current] = np.asarray(execution.run_kernel(op, attrs, avals, inputs))
    return values[node] if node.value is None else np.asarray(node.value)
