"""The value of a tensor of a graph that says what a shape, a size or an axis is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gradtape._src.core.constant_folding import Known, integers, wide
from gradtape._src.core.program import Node
from gradtape._src.core.tensor import graph_of
from gradtape._src.v1.graphs.kinds import CONST, PLACEHOLDER


class NeedsFeed(Exception):
    """A value that is structure is fed: it is part of the compiled program."""

    def __init__(self, node: Node) -> None:
        super().__init__()
        self.node = node


def structure_of(
    node: Node, fed: Mapping[Node, np.ndarray] | None = None, aside: Mapping[Node, np.ndarray] | None = None
) -> Known | None:
    """Return what `core/constant_folding` says of a node.

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
