"""Unknown extents of a graph: the nodes that determine them at session time, and integer tensors computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from gradtape._src.core.engine.constant_folding import Known, integers, wide
from gradtape._src.core.programs.program import Node, Trace
from gradtape._src.core.tensors.tensor import graph_of
from gradtape._src.core.values.aval import changes, has_shape
from gradtape._src.core.values.dim import Atom, Dim, unknown
from gradtape._src.v1.graphs.kinds import CONST, PLACEHOLDER


class Extents:
    """The nodes of a trace that determine the symbols for extents."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sources: dict[Any, tuple[Node, int]] = {}
        self._searched = 0  # the number of nodes searched so far
        self._fed: dict[Node, list[Dim]] = {}

    def changed(self, node: Node) -> None:
        """Note that the shape of a node has changed."""
        self._searched = min(self._searched, node.index)

    def source(self, symbol: Atom) -> tuple[Node, int] | None:
        """Return the first node with this extent, and its axis; for a fed integer its node, and its position as a negative."""
        nodes = self._trace.nodes
        for node in nodes[self._searched :]:
            for axis, e in enumerate(node.aval.shape if has_shape(node.aval) else ()):
                if type(e) is Dim and (own := e.symbol) is not None:
                    self._sources.setdefault(own, (node, axis))
        self._searched = len(nodes)
        return self._sources.get(symbol)

    def sources_of(self, extents: Iterable[Dim]) -> list[Node]:
        """Return the nodes that determine the symbols in these extents."""
        found = [self.source(symbol) for dim in extents for symbol in dim.symbols]
        return list(dict.fromkeys([source[0] for source in found if source is not None]))

    def fed_integers(self, node: Node) -> list[Dim]:
        """Return symbols for the elements of a placeholder of integers."""
        known = self._fed.get(node)
        if known is None:
            known = self._fed[node] = [unknown(counts=False) for _ in range(node.aval.size)]
            self._sources |= {dim.symbol: (node, place - node.aval.size) for place, dim in enumerate(known)}
        return known


class NeedsFeed(Exception):
    """A fed value determines shapes, so that it must be a constant of the compiled program."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


def structure_of(
    node: Node, fed: Mapping[Node, np.ndarray] | None = None, aside: Mapping[Node, np.ndarray] | None = None
) -> Known | None:
    """Return the integers of a node by `core/engine/constant_folding`.

    While a graph is built, elements of placeholders are symbols. At session time, `fed` has the values of feeds that determine
    shapes; another one raises `NeedsFeed`. `aside` overrides the values of nodes.
    """

    def stated(node: Node) -> Known | None:
        if aside and node in aside:
            return aside[node], True
        if node.op is CONST:
            return wide(node.attrs[0].array), False
        if node.op is None or node.op is PLACEHOLDER:
            return _of_leaf(node, fed)
        return None

    return integers(node, stated)


def _of_leaf(node: Node, fed: Mapping[Node, np.ndarray] | None) -> Known | None:
    if fed is None:
        if node.op is PLACEHOLDER and node.aval.dtype.kind in "iu" and not changes(node.aval):
            made = np.empty(node.aval.size, object)
            made[:] = graph_of(node).extents.fed_integers(node)
            return made.reshape(node.aval.shape), True
        return None
    if node in fed:
        return wide(fed[node]), False
    raise NeedsFeed(node)
