"""The hook through which a graph sees every op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradtape._src.autodiff.overrides import Overrides
from gradtape._src.core.base import hooks
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import Node

if TYPE_CHECKING:
    from gradtape._src.v1.graphs.graph import Graph


class GraphOverrides(Overrides):
    """The overrides of a graph's trace. They see every op, and note its name."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph, names: dict[str, str]) -> None:
        super().__init__(names)
        self._graph = graph

    def without_names(self, no_rank: bool) -> GraphOverrides | None:
        """Return overrides that record ops on values of unknown rank; None if there are no such values."""
        return GraphOverrides(self._graph, {}) if no_rank else None

    def extended(self, names: dict[str, str]) -> GraphOverrides:
        """Return these overrides updated by `names`."""
        return GraphOverrides(self._graph, self.names | names)

    def __call__(self, op: Op) -> Op:
        if engine.local.trace is self._graph.trace:
            self._graph.note(op)
        return super().__call__(op)

    def recorded(self, op: Op, inputs: tuple[Node, ...], attrs: Attributes) -> Node | None:
        """Record an op on inputs of unknown shapes with the known part of its result; return its node."""
        found = hooks.graphs.inferred(self._graph, op, inputs, attrs)
        return None if found is None else engine.record_as(op, inputs, attrs, found)
