"""Extents that a graph does not know: where it finds out, when it runs, what they are, and what tensors say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradtape._src.core.engine.constant_folding import Known, integers, wide
from gradtape._src.core.programs.program import Node, Trace
from gradtape._src.core.tensors.tensor import graph_of
from gradtape._src.core.values.dim import Atom, Dim, dims, unknown
from gradtape._src.v1.graphs.kinds import CONST, PLACEHOLDER


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


class NeedsFeed(Exception):
    """A value that is structure is fed: it is part of the compiled program."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


def structure_of(
    node: Node, fed: Mapping[Node, np.ndarray] | None = None, aside: Mapping[Node, np.ndarray] | None = None
) -> Known | None:
    """Return what `core/engine/constant_folding` says of a node.

    While a graph is built the integers of a placeholder are symbols; when it runs, `fed` has the values of parameters that count
    as structure, and another is a `NeedsFeed`. `aside` has values of any nodes.
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
        if node.op is PLACEHOLDER and node.aval.dtype.kind in "iu" and not node.aval.open:
            made = np.empty(node.aval.size, object)
            made[:] = graph_of(node).extents.fed_integers(node)
            return made.reshape(node.aval.shape), True
        return None
    if node in fed:
        return wide(fed[node]), False
    raise NeedsFeed(node)
