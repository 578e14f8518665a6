"""Colourings of the columns or rows of a sparse matrix: one product yields all columns of a colour.

Few colours mean few products. The problem is NP-hard, so several greedy colourings are tried, and the one with the fewest colours
is taken.
Overviews: Gebremedhin, Manne and Pothen, "What color is your Jacobian?" (2005); Montoison, Dalle and Gebremedhin, "Revisiting
sparse matrix coloring and bicoloring" (2025).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.derivatives.decompression import MOST_TERMS, terms_of
from gradtape._src.derivatives.symmetric_colouring import acyclic, star

MODES = ("forward", "reverse", "both", "symmetric", "substitution")
MANY, VERY_MANY = 1_500_000, 8_000_000  # pairs of columns that meet in a row, up to which orders by all pairs are tried
TREES = 100_000_000  # entries times colours above which no acyclic colouring is tried
WORTH = 2  # products that a second mode has to save, since it needs a second program
STRIDES, LONGEST = 6, 32  # of a stencil on a grid, at most: offsets between its points, and points
SAMPLE = 2_000  # pairs of columns on which a tiling is tested first

Graph = Sequence[Sequence[int]]


def coloured(pattern: Any, mode: str | None) -> tuple[str, np.ndarray]:
    """Return the mode and the colours of a CSR pattern; for None, the mode of the first three with the fewest colours.

    "forward": colours of the columns; two with an entry in the same row differ. "reverse": of the rows, likewise. "both": of the
    columns, then of the rows, with -1 for those in no product. "symmetric" and "substitution": of the columns. If all diagonal
    blocks have the same pattern, as for the examples of a batch, one block is coloured.
    """
    count = _blocks(pattern)
    height, width = [extent // count for extent in pattern.shape]
    found, colours = _coloured(pattern[:height, :width], mode)
    parts = np.split(colours, [width]) if found == "both" else [colours]
    return found, np.concatenate([np.tile(part, count) for part in parts])


def _blocks(pattern: Any) -> int:
    """Return the largest number of equal diagonal blocks that make up a pattern."""
    lengths, starts = np.diff(pattern.indptr), pattern.indptr
    most = math.gcd(*pattern.shape, pattern.nnz) if pattern.nnz else 1
    small = [d for d in range(1, math.isqrt(most) + 1) if most % d == 0]
    for count in sorted({*small, *[most // d for d in small]} - {1}, reverse=True):
        height, width = [extent // count for extent in pattern.shape]
        if (pattern.indices[: starts[height]] >= width).any():
            continue
        if (lengths.reshape(count, height) == lengths[:height]).all():
            columns = pattern.indices.reshape(count, -1)
            if (columns - np.arange(count, dtype=columns.dtype)[:, None] * width == columns[0]).all():
                return count
    return 1


def _coloured(pattern: Any, mode: str | None) -> tuple[str, np.ndarray]:
    if mode == "forward":
        return mode, _columns(pattern)
    if mode == "reverse":
        return mode, _columns(pattern.T.tocsr())
    if mode == "both":
        return mode, min(_both_sides(pattern, None), key=_count, default=np.full(sum(pattern.shape), -1))
    if mode is not None:
        return mode, _symmetric(pattern, mode)
    longest = _longest(pattern), int(np.bincount(pattern.indices).max(initial=0))
    first, second = ("forward", "reverse") if longest[0] <= longest[1] else ("reverse", "forward")
    best = _coloured(pattern, first)
    if max(longest) < _count(best[1]):
        best = min(best, _coloured(pattern, second), key=lambda found: _count(found[1]))
    few = _count(best[1]) - WORTH
    for colours in _both_sides(pattern, few):
        best = min(best, ("both", colours), key=lambda found: _count(found[1])) if _count(colours) <= few else best
    return best


def _count(colours: np.ndarray) -> int:
    return int(colours.max(initial=-1)) + 1


def _longest(pattern: Any) -> int:
    return int(np.diff(pattern.indptr).max(initial=0))


def _columns(pattern: Any) -> np.ndarray:
    """Return the candidates' colouring of the columns with the fewest colours; the longest row is a lower bound of these."""
    bound, best = _longest(pattern), np.arange(pattern.shape[1])
    if bound == len(best):
        return best
    for make in _candidates(pattern):
        best = min(best, make(_count(best)), key=_count)
        if _count(best) <= max(bound, 1):
            break
    return best


def _candidates(pattern: Any) -> Iterator[Callable[[int], np.ndarray]]:
    """Yield functions that colour the columns, the fastest first; their argument is the number of colours of the best so far."""
    sizes = np.bincount(pattern.indices, minlength=pattern.shape[1])
    yield lambda known: _greedy(pattern, range(len(sizes)))
    yield lambda known: _greedy(pattern, np.argsort(-sizes, kind="stable").tolist())
    yield lambda known: _tiled(pattern, known)
    pairs = int((np.diff(pattern.indptr).astype(np.int64) ** 2).sum())
    if pairs <= VERY_MANY:
        number = pattern.astype(np.int32)
        meeting = neighbours_of((number.T @ number).tocsr())
        yield lambda known: _greedy(pattern, _smallest_last(meeting))
    if pairs <= MANY:
        yield lambda known: _saturated(meeting)


def _greedy(pattern: Any, order: Iterable[int]) -> np.ndarray:
    """Return colours of the columns, assigned in an order: each gets the first colour that is free in its rows.

    Partial distance-2 colouring, algorithm 3.2 of Gebremedhin, Manne and Pothen, "What color is your Jacobian? Graph coloring for
    computing derivatives" (2005). The order by the number of entries is that of Welsh and Powell (1967). A set of colours is an
    integer with a bit for each.
    """
    columns = pattern.tocsc()
    starts, rows = columns.indptr.tolist(), columns.indices.tolist()
    used, bits = [0] * pattern.shape[0], [0] * pattern.shape[1]
    for column in order:
        mine, taken = rows[starts[column] : starts[column + 1]], 0
        for row in mine:
            taken |= used[row]
        bits[column] = bit = ~taken & (taken + 1)
        for row in mine:
            used[row] |= bit
    return _numbers(bits)


def _numbers(bits: Sequence[int]) -> np.ndarray:
    return np.array([bit.bit_length() - 1 for bit in bits], np.int64)


def neighbours_of(graph: Any) -> Graph:
    """Return the neighbours of each vertex of a CSR matrix, without itself."""
    starts, columns = graph.indptr.tolist(), graph.indices.tolist()
    return [[c for c in columns[a:b] if c != v] for v, (a, b) in enumerate(itertools.pairwise(starts))]


def _smallest_last(graph: Graph) -> list[int]:
    """Return an order in which each vertex has the fewest neighbours among those before it. Matula and Beck (1983)."""
    left = [len(near) for near in graph]
    buckets: list[list[int]] = [[] for _ in range(max(left, default=0) + 1)]
    for v, count in enumerate(left):
        buckets[count].append(v)
    order: list[int] = []
    gone, low = [False] * len(graph), 0
    while len(order) < len(graph):
        while not buckets[low]:
            low += 1
        v = buckets[low].pop()
        if gone[v] or left[v] != low:
            continue
        gone[v] = True
        order.append(v)
        for w in graph[v]:
            if not gone[w]:
                left[w] -= 1
                buckets[left[w]].append(w)
        low = max(low - 1, 0)
    return order[::-1]


def _saturated(graph: Graph) -> np.ndarray:
    """Return colours, assigned next to the vertex with the most colours among its neighbours.

    Brélaz, "New methods to color the vertices of a graph" (1979).
    """
    bits, around, colours = [0] * len(graph), [0] * len(graph), [0] * len(graph)
    heap = [(0, -len(near), v) for v, near in enumerate(graph)]
    heapq.heapify(heap)
    while heap:
        count, _, v = heapq.heappop(heap)
        if bits[v] or -count != colours[v]:
            continue
        taken = around[v]
        bits[v] = bit = ~taken & (taken + 1)
        for w in graph[v]:
            if not bits[w] and not around[w] & bit:
                around[w] |= bit
                colours[w] += 1
                heapq.heappush(heap, (-colours[w], -len(graph[w]), w))
    return _numbers(bits)


def _tiled(pattern: Any, known: int) -> np.ndarray:
    """Return a periodic colouring of a stencil's columns: a sum of multiples of a point's coordinates, modulo their number.

    Goldfarb and Toint, "Optimal estimation of Jacobian and Hessian matrices that arise in finite difference calculations" (1984).
    The coordinates come from the offsets of the diagonals. If none has fewer than `known` colours, all columns differ.
    """
    each, generator = np.arange(pattern.shape[1]), np.random.default_rng(0)
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    offsets, counts = np.unique(pattern.indices - rows, return_counts=True)
    strides = offsets[(offsets > 0) & (counts > len(each) / 2)].tolist()
    if not 0 < len(strides) <= STRIDES or _longest(pattern) > LONGEST:
        return each
    one = generator.integers(0, len(rows), SAMPLE)
    starts, ends = pattern.indptr[rows[one]], pattern.indptr[rows[one] + 1]
    other = pattern.indices[generator.integers(starts, ends)]
    one, other = pattern.indices[one][pattern.indices[one] != other], other[pattern.indices[one] != other]
    bases = [(*chosen,) for few in range(3) for chosen in itertools.combinations(strides[1:], few)]
    for count in range(_longest(pattern), known):
        for base in bases:
            points = _coordinates(each, (strides[0], *base))
            factors = np.array([(1, *f) for f in itertools.product(range(count), repeat=len(base))])
            apart = ((points[one] - points[other]) @ factors.T) % count
            for at in np.flatnonzero(apart.all(0)):
                colours = points @ factors[at] % count
                if np.bincount(colours[pattern.indices] * pattern.shape[0] + rows).max() == 1:
                    return colours
    return each


def _coordinates(numbers: np.ndarray, strides: Sequence[int]) -> np.ndarray:
    """Return the coordinates of points that are numbered along the axes of a grid."""
    periods = [*strides[1:], len(numbers) + 1]
    return np.stack([numbers % period // stride for stride, period in zip(strides, periods, strict=True)], 1)


def _both_sides(pattern: Any, few: int | None) -> Iterator[np.ndarray]:
    """Yield colours of some rows, and of the columns for the other rows; then the same with rows and columns exchanged.

    A bipartition for direct determination: Coleman and Verma, "The efficient computation of sparse Jacobian matrices using
    automatic differentiation" (1998). The rows set apart are the longest, in the number that allows the fewest colours by
    `_longest_rows`. Colourings that need more than `few` colours are skipped.
    """
    for transposed in (False, True) if pattern.nnz else ():
        matrix = pattern.T.tocsr() if transposed else pattern
        apart, least = _longest_rows(matrix)
        if few is not None and least > few:
            continue
        found = np.full(matrix.shape[0], -1)
        found[apart] = _columns(matrix[apart].T.tocsr())
        others = _columns(matrix[np.setdiff1d(np.arange(matrix.shape[0]), apart)])
        columns, rows = (found, others) if transposed else (others, found)
        yield np.concatenate([columns, np.where(rows < 0, rows, rows + _count(columns))])


def _longest_rows(pattern: Any) -> tuple[np.ndarray, int]:
    """Return the rows to set apart, at least one, and a lower bound of the number of colours."""
    lengths = np.diff(pattern.indptr)
    order = np.argsort(-lengths, kind="stable")
    ordered = pattern[order].tocsc()  # for each column, the positions of its rows in that order, ascending
    ordered.sort_indices()
    nth = np.arange(ordered.nnz) - np.repeat(ordered.indptr[:-1], np.diff(ordered.indptr)) + 1
    meet = np.zeros(len(order) + 1, np.int64)  # most of the first rows that meet in a column
    np.maximum.at(meet, ordered.indices + 1, nth)
    least = np.maximum.accumulate(meet) + np.append(lengths[order], 0)
    count = int(np.argmin(least[1:])) + 1
    return order[:count], int(least[count])


def _symmetric(pattern: Any, mode: str) -> np.ndarray:
    """Return the colouring of a symmetric matrix with the fewest colours: each entry or its mirror image can be recovered."""
    graph = neighbours_of(pattern)
    if len(pattern.indices) == len(graph) ** 2:
        return np.arange(len(graph))
    orders = [range(len(graph)), np.argsort([-len(near) for near in graph], kind="stable").tolist()]
    if len(pattern.indices) <= MANY / 4:
        orders.append(_smallest_last(graph))
    best = min([_numbers(star(graph, order)) for order in orders], key=_count)
    if _longest(pattern) < _count(best):  # columns of a colour that share no row recover entries, too
        best = min(best, _columns(pattern), key=_count)
    if mode == "substitution" and len(pattern.indices) * _count(best) <= TREES:
        rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
        for order in orders:
            colours = _numbers(acyclic(graph, order))
            if _count(colours) < _count(best):
                terms = terms_of(pattern.shape, rows, pattern.indices, colours, mode)
                best = best if terms is None or len(terms[0]) > MOST_TERMS * len(rows) else colours
    return best
