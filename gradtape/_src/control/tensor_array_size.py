"""The size of TensorArrays after a loop's writes, which XLA has to know before the loop runs.

TensorFlow's arrays grow with each write. gradtape allocates the entries before the loop. Their number has to be exact, since a
later stack shows it. It is known if the written indices are computed from the loop's counter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from gradtape._src.core.base.ambient import declare, field, setting
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import ELEMENT, Node, effectful
from gradtape._src.core.tensors.tensor import Tensor

MOST_TRIPS = 1 << 16  # the most trips, of all nested loops together, for which an index is computed
UNKNOWN = (
    "A TensorArray with dynamic_size grows in a loop, and how long it gets is not known before the loop runs. Give the "
    "TensorArray its size."
)


class Growth:
    """The known growth of a loop's TensorArrays while its body is traced.

    `numbers` are the values of the loop's counter in all trips, or None; `symbol` is the counter in the body. The body is traced
    once to find the writes, and again with room for them.
    """

    symbol: Node | None

    def __init__(self, numbers: np.ndarray | None = None) -> None:
        if numbers is not None and (numbers.ndim != 1 or numbers.dtype.kind not in "iu"):
            numbers = None
        self.numbers, self.symbol = numbers, None

    def counting(self, body: Callable[[Tensor], None]) -> Callable[[Tensor], None]:
        """Wrap `body` so that its argument is noted as the symbol."""

        def counted(item: Tensor) -> None:
            self.symbol = item.node
            body(item)

        return counted

    def in_loop(self) -> setting:
        """Open a context for recording the loop."""
        return setting(loops=(*_local.loops, self))


class _Fields:
    """The loops that are being recorded, the innermost last."""

    loops: tuple[Growth, ...] = field((), per_replica=True)


_local = declare(_Fields)


def is_around(growth: Growth | None) -> bool:
    """Return whether a loop is being recorded."""
    return any(loop is growth for loop in _local.loops)


def entries_for(index: Node, roomy: Growth | None) -> int:
    """Return the number of entries for a write at `index`; 0 within the loop `roomy`, which has made room already.

    NeedsValues if it is not known.
    """
    counted = {loop.symbol: loop.numbers for loop in _local.loops if loop.symbol is not None and loop.numbers is not None}
    if index in counted:
        return int(counted[index].max(initial=-1)) + 1
    largest = _largest(index, counted)
    if largest is None:
        raise engine.NeedsValues(UNKNOWN)
    return 0 if is_around(roomy) else largest + 1


def _largest(index: Node, counted: Mapping[Node, np.ndarray]) -> int | None:
    """Return the largest value of `index` over all trips; None if it depends on more than loop counters and constants."""
    order: dict[Node, None] = {}
    used: dict[Node, None] = {}
    stack = [index]
    while stack:
        node = stack.pop()
        if node in counted:
            used[node] = None
        elif node.value is None:
            if node.op is None or not node.inputs or node.op.is_call or effectful(node.key):
                return None
            order.pop(node, None)
            order[node] = None
            stack.extend(node.inputs)
    trips = [array.ravel() for array in np.meshgrid(*[counted[node] for node in used])]
    if not used or not trips[0].size:
        return -1 if used else int(np.asarray(engine.value(index)))
    if trips[0].size > MOST_TRIPS:
        return None
    values: dict[Node, Any] = dict(zip(used, trips, strict=True))
    depends = set(used)
    for node in reversed(order):
        inputs = [values.get(i, i.value) for i in node.inputs]
        axes = [0 if i in depends else None for i in node.inputs]
        if node.op is ELEMENT:
            values[node] = inputs[0][node.attrs[0]]
        elif 0 in axes:
            values[node] = jax.vmap(functools.partial(_applied, node), axes)(*inputs)
        else:
            values[node] = _applied(node, *inputs)
        if 0 in axes:
            depends.add(node)
    return int(np.max(np.asarray(values[index])))


def _applied(node: Node, *inputs: Any) -> Any:
    return node.op.run(inputs, node.attrs)
