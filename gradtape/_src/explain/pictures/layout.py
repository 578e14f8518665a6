"""A layered drawing of a graph whose edges run forwards: layers, order within them, places.

After Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures" (1981): an edge
that spans several layers goes over a bend in each, and the order within a layer is that of the neighbours' means.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import fmean
from typing import NamedTuple

SWEEPS = 8
ACROSS, DOWN = 26, 40  # between boxes of one layer, and between layers

Point = tuple[float, float]


class PictureLayout(NamedTuple):
    """The upper left corners of the `boxes`, the points of each edge in `routes`, and the size of the drawing."""

    boxes: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


def layered(sizes: Sequence[Point], edges: Sequence[tuple[int, int]]) -> PictureLayout:
    """Lay out boxes of the given sizes (width, height); an edge runs from a box to one of a higher number."""
    layer = _layers(len(sizes), edges)
    widths, heights = [w for w, _ in sizes], [h for _, h in sizes]
    chains = [_chain(edge, layer, widths, heights) for edge in edges]
    links = [link for chain in chains for link in pairwise(chain)]
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for box, at in enumerate(layer):
        rows[at].append(box)
    above: list[list[int]] = [[] for _ in layer]
    below: list[list[int]] = [[] for _ in layer]
    for upper, lower in links:
        below[upper].append(lower)
        above[lower].append(upper)
    centre = _centres(rows, above, below, widths)
    left = min([c - w / 2 for c, w in zip(centre, widths, strict=True)], default=0.0)
    x = [c - left for c in centre]
    tall = [max(heights[b] for b in row) for row in rows]
    tops = list(accumulate([height + DOWN for height in tall], initial=0.0))
    bottoms = [top + height for top, height in zip(tops, tall, strict=False)]
    boxes = [(x[b] - widths[b] / 2, tops[layer[b]]) for b in range(len(sizes))]
    routes = []
    for first, *bends, last in chains:
        route = [(x[first], y) for y in (tops[layer[first]] + heights[first], bottoms[layer[first]])]
        route += [(x[b], y) for b in bends for y in (tops[layer[b]], bottoms[layer[b]])]
        routes.append(list(dict.fromkeys([*route, (x[last], tops[layer[last]])])))  # a box may end where its row does
    width = max([c + w / 2 for c, w in zip(x, widths, strict=True)], default=0.0)
    return PictureLayout(boxes, routes, width, max(tops[-1] - DOWN, 0.0))


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box, below all of its inputs; a box without inputs is directly above its first user."""
    layer = [0] * count
    for upper, lower in sorted(edges, key=lambda edge: edge[1]):
        layer[lower] = max(layer[lower], layer[upper] + 1)
    led_to = {lower for _, lower in edges}
    for box in range(count):
        users = [layer[lower] for upper, lower in edges if upper == box]
        if box not in led_to and users:
            layer[box] = min(users) - 1
    return layer


def _chain(edge: tuple[int, int], layer: list[int], widths: list[float], heights: list[float]) -> list[int]:
    """Return the boxes of an edge, with a new bend in each layer that it crosses."""
    upper, lower = edge
    chain = [upper]
    for at in range(layer[upper] + 1, layer[lower]):
        chain.append(len(layer))
        layer.append(at)
        widths.append(0.0)
        heights.append(0.0)
    return [*chain, lower]


def _centres(rows: list[list[int]], above: list[list[int]], below: list[list[int]], widths: list[float]) -> list[float]:
    """Order the boxes of each row, and compute the centres of all boxes."""
    centre = [0.0] * len(widths)
    for row in rows:
        _spread(row, [float(i) for i in range(len(row))], centre, widths)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else rows[::-1]:
            neighbours = above if down else below
            wished = {b: fmean([centre[n] for n in neighbours[b] or [b]]) for b in row}
            if sweep < SWEEPS - 2:
                row.sort(key=wished.__getitem__)
            _spread(row, [wished[b] for b in row], centre, widths)
    return centre


def _spread(row: list[int], wished: list[float], centre: list[float], widths: list[float]) -> None:
    """Place boxes near their wished positions, in order and without overlap: the mean of pushing right and pushing left."""
    rightwards, leftwards = list(wished), list(wished)
    for i in range(1, len(row)):
        apart = (widths[row[i - 1]] + widths[row[i]]) / 2 + ACROSS
        rightwards[i] = max(rightwards[i], rightwards[i - 1] + apart)
    for i in range(len(row) - 2, -1, -1):
        apart = (widths[row[i + 1]] + widths[row[i]]) / 2 + ACROSS
        leftwards[i] = min(leftwards[i], leftwards[i + 1] - apart)
    for box, right, left in zip(row, rightwards, leftwards, strict=True):
        centre[box] = (right + left) / 2
