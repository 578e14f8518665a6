"""How long the TensorArrays get that a loop writes into, which XLA has to know before the loop runs.

TensorFlow's arrays grow as they are written. Here the room is made before the loop, and must be what the writes of all trips
need, neither more nor less, as what is stacked afterwards shows it. It is known where the indices follow from what the loop
counts.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from gradtape._src.core import engine
from gradtape._src.core.program import Node
from gradtape._src.core.tensor import Tensor, handle

UNKNOWN = (
    "A TensorArray with dynamic_size grows in a loop, and how long it gets is not known before the loop runs. Give the "
    "TensorArray its size."
)


class Growth:
    """What is known of how a loop makes TensorArrays longer, while its body is traced.

    `numbers` are what the loop counts, trip by trip, or None; `symbol` stands for them in the body. That is traced first while
    the loop is `asking` what it writes; `open` says afterwards that an index was not the symbol itself. If so it is traced for
    `some` of the numbers, which says how long the arrays get. At last it is traced with room for that.
    """

    symbol: Node | None

    def __init__(self, numbers: np.ndarray | None = None) -> None:
        if numbers is not None and (numbers.ndim != 1 or numbers.dtype.kind not in "iu"):
            numbers = None
        self.numbers, self.symbol = numbers, None
        self.last = None if numbers is None else int(numbers.max(initial=-1))
        self.asking, self.open = numbers is not None, False

    def counting(self, body: Callable[[Tensor], None]) -> Callable[[Tensor], None]:
        """`body`, whose argument is noted as the symbol."""

        def counted(item: Tensor) -> None:
            self.symbol = item.node
            body(item)

        return counted

    def some(self) -> Iterator[Tensor]:
        """What the loop counts in a few trips, the first, the last and those of extremes among them."""
        numbers = self.numbers
        if self.open and numbers is not None and numbers.size:
            last = numbers.size - 1
            for trip in sorted({0, last // 2, last, int(numbers.argmin()), int(numbers.argmax())}):
                yield handle(engine.constant(numbers[trip]))


class _Loops(threading.local):
    def __init__(self) -> None:
        self.around: list[Growth] = []


_loops = _Loops()


@contextlib.contextmanager
def tracing_body(growth: Growth | None) -> Iterator[None]:
    """For tracing the body of a loop; None for one of which nothing is known."""
    _loops.around.append(Growth() if growth is None else growth)
    try:
        yield
    finally:
        _loops.around.pop()


def is_around(growth: Growth | None) -> bool:
    """Whether the body of that loop is being traced."""
    return any(loop is growth for loop in _loops.around)


def entries_for(index: Node, roomy: Growth | None) -> int:
    """How many entries an array must have for a write at `index`; `roomy` is the loop that made room in it.

    NeedsValues if that is not known.
    """
    loops = _loops.around
    for loop in loops:
        if index is loop.symbol and loop.last is not None:
            return loop.last + 1
    if is_around(roomy) and _counted(index, [loop.symbol for loop in loops if loop.symbol is not None]):
        return 0
    for loop in loops:
        if loop.asking:
            loop.open = True
            return 0
    raise engine.NeedsValues(UNKNOWN)


def _counted(index: Node, symbols: Sequence[Node]) -> bool:
    """Whether `index` follows from `symbols` and constants alone."""
    stack, seen = [index], set()
    while stack:
        node = stack.pop()
        if node in seen or node in symbols or node.value is not None:
            continue
        if node.op is None or not node.inputs:
            return False
        seen.add(node)
        stack.extend(node.inputs)
    return True
