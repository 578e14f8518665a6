"""Columns that can be found together from one product, so that few products give a whole sparse matrix."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def coloured(pattern: Any) -> np.ndarray:
    """Return a colour for each column of a CSR pattern, such that two columns with an entry in one row differ.

    Greedy, columns with many entries first: partial distance-2 colouring, algorithm 3.2 of Gebremedhin, Manne and Pothen,
    "What color is your Jacobian? Graph coloring for computing derivatives" (2005), in the order of Welsh and Powell (1967).
    """
    rows_of = pattern.tocsc()
    starts, rows = rows_of.indptr, rows_of.indices
    used: list[set[int]] = [set() for _ in range(pattern.shape[0])]  # of each row, the colours that its columns have
    colours = np.zeros(pattern.shape[1], np.int64)
    for column in np.argsort(-np.diff(starts), kind="stable").tolist():
        sets = [used[row] for row in rows[starts[column] : starts[column + 1]]]
        colour = 0
        while any(colour in taken for taken in sets):
            colour += 1
        colours[column] = colour
        for taken in sets:
            taken.add(colour)
    return colours


def star_coloured(pattern: Any) -> np.ndarray:
    """Return a colour for each column of a symmetric CSR pattern, for which each entry or its mirror image can be read off.

    Neighbours differ, and each path of four vertices has three colours: star colouring, algorithm 4.1 of Gebremedhin, Manne and
    Pothen (2005). Of two orders the one with fewer colours is taken: as they stand, and columns with many entries first.
    """
    starts, columns = pattern.indptr.tolist(), pattern.indices.tolist()
    neighbours = [[c for c in columns[a:b] if c != v] for v, (a, b) in enumerate(itertools.pairwise(starts))]
    largest_first = np.argsort([-len(n) for n in neighbours], kind="stable").tolist()
    found = [_star_coloured(neighbours, order) for order in (range(len(neighbours)), largest_first)]
    return min(found, key=lambda colours: int(colours.max(initial=-1)))


def _star_coloured(neighbours: Sequence[Sequence[int]], order: Iterable[int]) -> np.ndarray:
    colours = [-1] * len(neighbours)
    for v in order:
        forbidden = set()
        for w in neighbours[v]:
            between = colours[w]
            forbidden.add(between)
            for x in neighbours[w]:
                if colours[x] < 0 or colours[x] in forbidden:
                    continue
                if between < 0 or any(colours[y] == between and y != w for y in neighbours[x]):
                    forbidden.add(colours[x])
        colour = 0
        while colour in forbidden:
            colour += 1
        colours[v] = colour
    return np.array(colours, np.int64)
