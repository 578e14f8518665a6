"""The value of a tensor that says what a shape, a size or an axis is, computed with NumPy from what is known of shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core.aval import PROVISIONAL
from gradtape._src.core.program import Node
from gradtape._src.v1.graphs.kinds import CONST, HANDLE, PLACEHOLDER

MOST = 200  # so many ops are looked through for a shape


class NeedsFeed(Exception):
    """A value that is structure is fed: it is part of the compiled program."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


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


def structure_of(node: Node, fed: dict[Node, np.ndarray] | None = None) -> tuple[np.ndarray, bool] | None:
    """Return `(int64 array, whether it may change from run to run)`, or None if it depends on more than shapes and constants.

    While a graph is built a placeholder of integers counts as the provisional extent; when it runs, `fed` has the values
    of parameters that count as structure, and another is a `NeedsFeed`.
    """
    order: dict[Node, None] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        if current.value is None:
            if len(order) > MOST or type(current.aval) is tuple:
                return None
            order.pop(current, None)
            order[current] = None
            if current.op is not None and current.op.type not in ("Shape", "Size"):
                stack.extend(current.inputs)
    values: dict[Node, tuple[Any, bool]] = {}
    for current in reversed(order):
        found = _value(current, values, fed)
        if found is None:
            return None
        values[current] = found
    if node.value is not None:
        return _wide(node.value), False
    return values[node]


def _value(node: Node, values: dict[Node, tuple[Any, bool]], fed: dict[Node, np.ndarray] | None) -> tuple[Any, bool] | None:
    op = node.op
    if op is None or op is PLACEHOLDER:
        if fed is None:
            if op is PLACEHOLDER and node.aval.dtype.kind in "iu" and not node.aval.large:
                return np.full(node.aval.shape, PROVISIONAL, np.int64), True
            return None
        if node in fed:
            return _wide(fed[node]), False
        raise NeedsFeed(node)
    if op is CONST:
        return _wide(node.attrs[0].array), False
    if op is HANDLE:
        return None
    attributes = dict(zip(op.attributes, node.attrs, strict=True))
    if op.type in ("Shape", "Size"):
        source = node.inputs[0].aval
        extents = np.array(source.shape, np.int64)
        return (extents if op.type == "Shape" else np.array(source.size, np.int64)), source.large
    rule = RULES.get(op.type)
    if rule is None:
        return None
    inputs = [values[i] if i.value is None else (_wide(i.value), False) for i in node.inputs]
    return np.asarray(rule(*[array for array, _ in inputs], **attributes)), any(changes for _, changes in inputs)


def _wide(array: Any) -> np.ndarray:
    array = np.asarray(array)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array
