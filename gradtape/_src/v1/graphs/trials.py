"""Calls that need values: a graph makes them on some, to learn what they give."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.core import engine
from gradtape._src.core.aval import LARGE, PROVISIONAL, Aval, aval
from gradtape._src.core.program import Node, Trace
from gradtape._src.ops.random import seeds
from gradtape._src.v1.graphs.examples import RANKS, REFUSALS, Example, Examples, Found
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.kinds import CONST

# What unknown extents and numbers are in the trials of a call that needs values: extents and values must differ between
# them, so that what is the same in all results does not depend on them.
TRIALS: tuple[tuple[int, Any], ...] = (
    (7, lambda place, size: place + 1),
    (5, lambda place, size: place + 2),
    (5, lambda place, size: 3),
    (5, lambda place, size: 1),
    (12, lambda place, size: np.arange(size) % 3),
    (6, lambda place, size: np.arange(size) + 1),
    (6, lambda place, size: np.arange(size)[::-1] * 2 % 5 + 1),
    (12, lambda place, size: 0),
    (6, lambda place, size: 2),
    (2, lambda place, size: place + 1),
    (3, lambda place, size: place + 1),
    (1, lambda place, size: place + 1),
    (2, lambda place, size: 3),
    (3, lambda place, size: 4),
    (2, lambda place, size: 2 if place else np.arange(size) // 2),  # a sparse matrix
)
INTEGERS: tuple[Any, ...] = ([1], [[1]], [1, 1], [2, 3], 1, [0, 1], [1, 0], [0, 1, 2], [1, 2, 0], [0, 1, 2, 3], [3, 2, 1, 0])
# Axes: each once.
ORDERS: tuple[Any, ...] = (
    lambda place, size: np.arange(size),
    lambda place, size: np.arange(size)[::-1],
    lambda place, size: np.arange(size) + 1,
)
ENOUGH = 6  # results of trials
SEARCHED = 150  # choices of extents that are tried at most
LARGEST = 1 << 16  # elements of the inputs of a trial
# What numbers are where extents are searched for.
PATTERNS: tuple[Any, ...] = (
    lambda place, size: np.arange(size) % 3 if size > 1 else 3,
    lambda place, size: np.arange(size) + 1,
    lambda place, size: 2 if place else np.arange(size) // 2,
    lambda place, size: 0,
    lambda place, size: 1,
    lambda place, size: place + 1,
)


def sampled(graph: Graph, examples: Examples, call: Any, nodes: Sequence[Node], hints: Sequence[Any]) -> Found | None:
    """Return the results of a call for some values of its inputs; None if it takes none that are tried.

    Unknown extents are all the same at first, and searched for where the call refuses that.
    """
    return _of_one_extent(graph, call, nodes) or _of_extents(graph, examples, call, nodes, hints)


def _of_one_extent(graph: Graph, call: Any, nodes: Sequence[Node]) -> Found | None:
    found: list[tuple[Any, list[Aval]]] = []
    taken: list[int] = []  # the extents of the trials that gave them
    seen: set[bytes] = set()  # the integers that were taken
    known = sorted({e for n in nodes for e in n.aval.shape if 1 < e < LARGE})  # what is not known may have to be another input's
    more = [(e, TRIALS[0][1]) for e in known] + [(size, lambda place, _, e=e: e) for e in known for size in (1, 2, 3)]
    ranks = sorted({n.aval.ndim for n in nodes if n.aval.ndim})
    trials = (*TRIALS, *more, *[(rank, order) for rank in ranks for order in ORDERS])
    fixed = _varies(nodes)
    open_ranks = {n.aval.dtype.kind in "iu" for n in nodes if graph.open_rank(n)}
    samples = itertools.product(RANKS if False in open_ranks else (0,), trials, INTEGERS if True in open_ranks else (None,))
    of_rank: Counter[int] = Counter()
    for rank, (extent, value), array in samples:
        if of_rank[rank] == ENOUGH:
            continue
        with contextlib.suppress(NotImplementedError, *REFUSALS), _eager():
            given = [
                _with_value(graph, n, extent, functools.partial(value, k), (rank, array), fixed) for k, n in enumerate(nodes)
            ]
            found.append(call.example(given))
            taken.append(extent)
            of_rank[rank] += 1
            seen.add(b"".join([n.value.tobytes() for n in given if n.value is not None and n.aval.dtype.kind in "iu"]))
    if not found:
        return None
    shapes = any(n.aval.dtype.kind in "iu" and n.aval.ndim == 1 and n.aval.large for n in nodes)
    if shapes and all(a.ndim == extent for (_, avals), extent in zip(found, taken, strict=True) for a in avals):
        found.append((found[0][0], [aval((), a.dtype) for a in found[0][1]]))  # their extent may be the rank
    if len(seen) == 1 and seen != {b""}:  # extents that never differ may be these integers
        found.append(_of_any_extents(found[0]))
    ranked = sum(map(graph.open_rank, nodes)) < 2  # several had one rank each in a trial
    return Found(found, True, (0,), ranked)  # a result that was empty in all trials is not always


def _of_extents(graph: Graph, examples: Examples, call: Any, nodes: Sequence[Node], hints: Sequence[Any]) -> Found | None:
    fixed, others = _varies(nodes), []

    def attempt(example: Example) -> tuple[Any, list[Aval]]:
        avals = [example.aval(n) for n in nodes]
        if sum(a.size for a in avals) > LARGEST:
            raise ValueError("examples of this size are not computed")
        made = []
        for value in PATTERNS:
            with contextlib.suppress(NotImplementedError, *REFUSALS), _eager():
                numbers = [functools.partial(value, k) for k in range(len(nodes))]
                given = [_filled(n, a, number, fixed) for n, a, number in zip(nodes, avals, numbers, strict=True)]
                made.append(call.example(given))
        if not made:
            raise ValueError("a call takes none of the values that are tried")
        others.extend(made[1:] or [_of_any_extents(made[0])])  # what is the same for all values does not depend on them
        return made[0]

    found = examples.by_themselves(nodes, hints, attempt, SEARCHED)
    return found and found._replace(results=[*found.results, *others])


def _of_any_extents(made: tuple[Any, list[Aval]]) -> tuple[Any, list[Aval]]:
    layout, avals = made
    return layout, [aval((PROVISIONAL,) * a.ndim, a.dtype) for a in avals]


@contextlib.contextmanager
def _eager() -> Iterator[None]:
    """Open a context for a call in eager code, aside."""
    with engine.recording_in(Trace(engine.UNBOUNDED)), seeds.drawn_from(seeds.Global(0)):
        yield


def _varies(nodes: Sequence[Node]) -> bool:
    """Return whether some of the inputs of a call are no constants: then only these vary."""
    return any(n.value is None and n.op is not CONST for n in nodes)


def _with_value(
    graph: Graph, node: Node, extent: int, value: Callable[[int], Any], open_rank: tuple[int, Any], fixed: bool
) -> Node:
    """Return a leaf like `node`, for a trial; of `open_rank`, or that array for integers. A known value is itself if it is
    `fixed`.
    """
    if graph.open_rank(node) and node.aval.dtype.kind in "iu":
        return engine.constant(np.array(open_rank[1], node.aval.dtype))
    shape = [extent] * open_rank[0] if graph.open_rank(node) else [extent if e >= LARGE else e for e in node.aval.shape]
    return _filled(node, aval(tuple(shape), node.aval.dtype), value, fixed)


def _filled(node: Node, like: Aval, value: Callable[[int], Any], fixed: bool) -> Node:
    """Return a leaf like `node`, of such a shape. A known value is itself if it is `fixed`."""
    if node.value is not None and fixed:
        return node
    if node.op is CONST and fixed:
        return engine.constant(np.asarray(node.attrs[0].array))
    kind, size = like.dtype.kind, math.prod(like.shape)
    number = value(size) if kind in "iufcV" else value(size) % 2 if kind == "b" else b"1" if like.dtype.hasobject else 1
    filled = np.broadcast_to(number, size if like.shape else (1,))
    return engine.constant(filled.reshape(like.shape).astype(like.dtype))
