"""Constant folding while a function or graph is traced: of small values, and of integers computed from unknown extents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core.engine import execution
from gradtape._src.core.platform import xla
from gradtape._src.core.platform.arrays import jnp
from gradtape._src.core.programs.function_names import CONST
from gradtape._src.core.programs.op import Op, define
from gradtape._src.core.programs.program import Node, effectful
from gradtape._src.core.values.aval import Aval, aval, changes
from gradtape._src.core.values.dim import dims, unknown

MOST = 200  # ops visited at most
SMALL = 50  # elements of each folded value at most, but for constants
Known = tuple[np.ndarray, bool]  # a value, and whether it may change from run to run


def _count(*rows: Any, count: int | None) -> Any:
    return jnp.arange(rows[0].shape[0] if count is None else count, dtype=jnp.int64)


def _count_aval(*rows: Aval, count: int | None) -> Aval:
    if count is not None:
        return aval((count,), np.dtype(np.int64))
    return aval((rows[0].shape[0] if rows[0].ranked else unknown(),), np.dtype(np.int64))


# range(count), or the row numbers of its input.
COUNT = define(Op("Count", _count, infer=_count_aval, reason="it gives integers", flops=0, traits="own"))
# An unknown extent as a scalar.
EXTENT = define(
    Op(
        "Extent",
        lambda *, extent, dtype: jnp.array(extent, dtype),
        infer=lambda *, extent, dtype: aval((), dtype),
        cheap=True,
        reason="it has no inputs",
        traits="own",
    )
)  # fmt: skip


def _rule(op: Op) -> Callable[..., Any] | None:
    return (op.strings or op.kernel) if op.folds is True else op.folds


def unstated(node: Node) -> Known | None:
    """Return None: no value is stated for a node."""
    return None


def integers(node: Node, stated: Callable[[Node], Known | None] = unstated) -> Known | None:
    """Return `(array, whether it may change from run to run)`, or None if the value depends on more than shapes and constants.

    The array has dtype int64, or holds symbols for unknown extents. `stated` may give the value of a node without its inputs.
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
            if current.op.folds is not None and not current.op.of_shapes:
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
    rule = _rule(op)
    if rule is None:
        return None
    if op.of_shapes:
        source = node.inputs[0].aval
        if not source.ranked:
            return None
        return np.asarray(rule(np.array(source.shape, object if source.open else np.int64))), source.open
    inputs = [values[i] for i in node.inputs]
    attributes = dict(zip(op.attributes, node.attrs, strict=True))
    return np.asarray(rule(*[array for array, _ in inputs], **attributes)), any(changes for _, changes in inputs)


def wide(array: Any) -> np.ndarray:
    """Convert an integer array to int64; leave other dtypes as they are."""
    array = np.asarray(array)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def folded(node: Node, numbers: bool = False) -> np.ndarray | None:
    """Return the value of a small node of a function's trace that depends on constants alone, else None.

    With `numbers`, unknown extents count as constants, too, with the extents of the current call or supposed ones.
    """
    order: dict[Node, None] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        if current.value is None:
            if current.trace is None or current.trace.scope is None or type(current.aval) is tuple:
                return None
            if changes(current.aval) or effectful(current.key) or len(order) > MOST:
                return None
            if current.aval.size > SMALL and current.op.type != CONST:
                return None
            if dims(current.attrs) and not (numbers and current.op is EXTENT):
                return None
            order.pop(current, None)
            order[current] = None
            if not current.op.of_shapes:
                stack.extend(current.inputs)
            elif any(not i.aval.ranked or (i.aval.open and not numbers) for i in current.inputs):
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
