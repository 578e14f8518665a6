"""`range` over tensors in a `for` loop, with a length that is not known yet."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base import ambient
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.tensor import Tensor
from gradtape._src.ops.array.creation import range_


class DynamicRange(Tensor):
    """A `range` with tensors as bounds, for a loop. To use it as a tensor takes the values of its bounds."""

    def __init__(self, start: Tensor, limit: Tensor, delta: Any) -> None:
        self.start, self.limit, self.delta = start, limit, delta
        self._kept: Tensor | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if engine.graph_around() is None:
            raise engine.NeedsValues(
                "The length of tf.range depends on values. In compiled code shapes are fixed: loop over the range, or give it "
                "bounds that are known."
            )
        if self._kept is None:  # a graph creates the tensor when it runs
            with ambient.anew():
                self._kept = range_(self.start, self.limit, self.delta)
        return self._kept.node
