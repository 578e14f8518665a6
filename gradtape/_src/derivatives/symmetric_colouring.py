"""Colours of the vertices of a graph, which is a symmetric matrix without its diagonal: star and acyclic colourings.

Gebremedhin, Tarafdar, Manne and Pothen, "New acyclic and star coloring algorithms with application to computing Hessians" (2007).
A colour is an integer with one bit, so that a set of colours is one integer: each vertex keeps the set of those around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def star(graph: Sequence[Sequence[int]], order: Iterable[int]) -> list[int]:
    """Return colours such that neighbours differ, and each path of four vertices has three: two colours are stars.

    So each entry is alone in its row among the columns of one colour, or its mirror image is: it is at a leaf of its star.
    """
    count = len(graph)
    colours, around, twice = [0] * count, [0] * count, [0] * count  # colours of neighbours, and those that two of them have
    hubs = [0] * count  # colours of neighbours that are the middle of a star, with this vertex as a leaf
    first: list[dict[int, int]] = [{} for _ in graph]  # of each colour around a vertex, the first that got it
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
    """Disjoint sets: which edges of two colours are in one tree. Tarjan (1975)."""

    def __init__(self) -> None:
        self.parents: list[int] = []

    def made(self) -> int:
        """Return a new tree."""
        self.parents.append(len(self.parents))
        return len(self.parents) - 1

    def root(self, tree: int) -> int:
        """Return what stands for the tree."""
        parents = self.parents
        while parents[tree] != tree:
            parents[tree] = tree = parents[parents[tree]]
        return tree


def acyclic(graph: Sequence[Sequence[int]], order: Iterable[int]) -> list[int]:
    """Return colours such that neighbours differ, and each circle has three: two colours are trees.

    So the entries can be found one after the other, from the leaves of the trees inwards.
    """
    count, trees = len(graph), _Trees()
    colours, around, twice = [0] * count, [0] * count, [0] * count
    inside: list[dict[int, int]] = [{} for _ in graph]  # of a vertex, its tree with each other colour
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
    """Return the colours with which a vertex would close a circle: two of its neighbours are in one tree."""
    met: dict[int, int] = {}
    closing = 0
    for w in near:
        if colours[w] & several:
            for colour, tree in inside[w].items():
                if met.setdefault(trees.root(tree), w) != w:
                    closing |= colour
    return closing
