"""Star and acyclic colourings of the vertices of a graph: a symmetric matrix without its diagonal.

Gebremedhin, Tarafdar, Manne and Pothen, "New acyclic and star coloring algorithms with application to computing Hessians" (2007).
A colour is an integer with one bit, and a set of colours is an integer, too. Each vertex has the set of its neighbours' colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def star(graph: Sequence[Sequence[int]], order: Iterable[int]) -> list[int]:
    """Return colours such that neighbours differ, and each path of four vertices has three: two colours form stars.

    Each edge ends in a leaf of its star. So an entry or its mirror image is alone in its row among the columns of a colour.
    """
    count = len(graph)
    colours, around, twice = [0] * count, [0] * count, [0] * count  # colours of neighbours, and those of two or more neighbours
    hubs = [0] * count  # colours of neighbours that are the centre of a star with this vertex as a leaf
    first: list[dict[int, int]] = [{} for _ in graph]  # for each colour around a vertex, the first neighbour that got it
    for v in order:
        forbidden, several = around[v], twice[v]
        for w in graph[v]:
            forbidden |= hubs[w]
            if colours[w] & several:
                forbidden |= around[w]
        colours[v] = mine = ~forbidden & (forbidden + 1)
        for w in graph[v]:
            other = colours[w]
            if around[w] & mine:
                if other:
                    hubs[first[w][mine]] |= other
                    hubs[v] |= other
                twice[w] |= mine
            else:
                around[w] |= mine
                first[w][mine] = v
            if other & several:
                hubs[w] |= mine
    return colours


class _Trees:
    """Disjoint sets of edges of two colours, one for each tree. Tarjan (1975)."""

    def __init__(self) -> None:
        self.parents: list[int] = []

    def made(self) -> int:
        """Return a new tree."""
        self.parents.append(len(self.parents))
        return len(self.parents) - 1

    def root(self, tree: int) -> int:
        """Return the representative of a tree."""
        parents = self.parents
        while parents[tree] != tree:
            parents[tree] = tree = parents[parents[tree]]
        return tree


def acyclic(graph: Sequence[Sequence[int]], order: Iterable[int]) -> list[int]:
    """Return colours such that neighbours differ, and each cycle has three: two colours form trees.

    So the entries can be recovered one after the other, from the leaves of the trees inwards.
    """
    count, trees = len(graph), _Trees()
    colours, around, twice = [0] * count, [0] * count, [0] * count
    inside: list[dict[int, int]] = [{} for _ in graph]  # for each vertex, its tree with each other colour
    for v in order:
        forbidden = around[v] | (_closing(graph[v], v, colours, twice[v], inside, trees) if twice[v] else 0)
        colours[v] = mine = ~forbidden & (forbidden + 1)
        for w in graph[v]:
            twice[w] |= around[w] & mine
            around[w] |= mine
            if colours[w]:
                one, other = inside[v].get(colours[w]), inside[w].get(mine)
                if one is not None and other is not None:
                    trees.parents[trees.root(one)] = trees.root(other)
                joined = one if one is not None else other if other is not None else trees.made()
                inside[v].setdefault(colours[w], joined)
                inside[w].setdefault(mine, joined)
    return colours


def _closing(
    near: Sequence[int], v: int, colours: Sequence[int], several: int, inside: Sequence[dict[int, int]], trees: _Trees
) -> int:
    """Return the colours with which a vertex would close a cycle, because two of its neighbours are in one tree."""
    met: dict[int, int] = {}
    closing = 0
    for w in near:
        if colours[w] & several:
            for colour, tree in inside[w].items():
                if met.setdefault(trees.root(tree), w) != w:
                    closing |= colour
    return closing
