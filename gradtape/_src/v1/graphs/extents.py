"""The places where a graph finds out, when it runs, what an extent is that it does not know."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.dim import Atom, Dim, dims, unknown
from gradtape._src.core.program import Node, Trace


class Extents:
    """The nodes of a trace that tell the extents which are symbols."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sources: dict[Any, tuple[Node, int]] = {}
        self._searched = 0  # so many nodes of the trace were looked at
        self._fed: dict[Node, list[Dim]] = {}

    def changed(self, node: Node) -> None:
        """Note that a node has another shape from here on."""
        self._searched = min(self._searched, node.index)

    def source(self, symbol: Atom) -> tuple[Node, int] | None:
        """Return the node that has an extent first, and its axis; of an integer that is fed the node and its place, below 0."""
        nodes = self._trace.nodes
        for node in nodes[self._searched :]:
            for axis, e in enumerate(() if type(node.aval) is tuple else node.aval.shape):
                if type(e) is Dim and (own := e.symbol) is not None:
                    self._sources.setdefault(own, (node, axis))
        self._searched = len(nodes)
        return self._sources.get(symbol)

    def sources_of(self, value: Any) -> list[Node]:
        """Return the nodes that tell the extents in the value of an attribute."""
        found = [self.source(symbol) for dim in dims(value) for symbol in dim.symbols]
        return list(dict.fromkeys([source[0] for source in found if source is not None]))

    def fed_integers(self, node: Node) -> list[Dim]:
        """Return the integers that are fed to a node, as symbols."""
        known = self._fed.get(node)
        if known is None:
            known = self._fed[node] = [unknown(counts=False) for _ in range(node.aval.size)]
            self._sources |= {dim.symbol: (node, place - node.aval.size) for place, dim in enumerate(known)}
        return known
