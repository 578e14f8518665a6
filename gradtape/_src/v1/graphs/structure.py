"""The value of a tensor that says what a shape, a size or an axis is, computed with NumPy from what is known of shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradtape._src.core.program import Node
from gradtape._src.core.tensor import graph_of
from gradtape._src.v1.graphs.kinds import CONST, EXTENT, HANDLE, PLACEHOLDER

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


def structure_of(
    node: Node, fed: dict[Node, np.ndarray] | None = None, aside: dict[Node, np.ndarray] | None = None
) -> tuple[np.ndarray, bool] | None:
    """Return `(array, whether it may change from run to run)`, or None if it depends on more than shapes and constants.

    The array is of int64 or, where extents are not known, of symbols.

    While a graph is built the integers of a placeholder are symbols; when it runs, `fed` has the values of parameters that count
    as structure, and another is a `NeedsFeed`. `aside` has values of any nodes.
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
            if not (aside and current in aside) and current.op is not None and current.op.type not in ("Shape", "Size"):
                stack.extend(current.inputs)
    values: dict[Node, tuple[Any, bool]] = {}
    for current in reversed(order):
        found = (aside[current], True) if aside and current in aside else _value(current, values, fed)
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
            if op is PLACEHOLDER and node.aval.dtype.kind in "iu" and not node.aval.open:
                made = np.empty(node.aval.size, object)
                made[:] = graph_of(node).extents.fed_integers(node)
                return made.reshape(node.aval.shape), True
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
        kind = object if source.open else np.int64
        return np.array(source.shape if op.type == "Shape" else source.size, kind), source.open
    if op is EXTENT:
        return np.array(node.attrs[0], object), True
    rule = RULES.get(op.type)
    if rule is None:
        return None
    inputs = [values[i] if i.value is None else (_wide(i.value), False) for i in node.inputs]
    return np.asarray(rule(*[array for array, _ in inputs], **attributes)), any(changes for _, changes in inputs)


def _wide(array: Any) -> np.ndarray:
    array = np.asarray(array)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array
