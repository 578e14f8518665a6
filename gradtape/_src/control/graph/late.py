"""Calls on tensors of unknown rank: recorded as one op each, and made when the graph runs and the rank is known."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.graph.extents import only_types
from gradtape._src.control.graph.graph import Graph
from gradtape._src.control.graph.kinds import LATE, Held
from gradtape._src.control.graph.replay import RunScope
from gradtape._src.core import engine, nest, tracing
from gradtape._src.core.aval import LARGE, PROVISIONAL, Aval, aval
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import InvalidArgumentError, NotFoundError
from gradtape._src.core.program import Node, Trace, leaf
from gradtape._src.core.tensor import EagerTensor, Tensor, handle
from gradtape._src.core.variable import Variable
from gradtape._src.ops import seeds

# What is tried for an unknown rank, to see how many results a call has, and of which dtypes and ranks.
RANKS = (2, 1, 3, 4, 0)
EXTENTS = (PROVISIONAL, 1, 12)  # of one extent, an axis can be squeezed; of twelve, it can be divided
INDEX_RANKS = (1, 0, 2)
FLOORS = ("gradtape._src.ops.", "gradtape._src.compat.")


class Unmade:
    """A call of a public function that waits: `positions` says where its tensors stand among its arguments, flattened."""

    __slots__ = ("arguments", "function", "layout", "positions")

    def __init__(self, function: Callable[..., Any], arguments: Any, positions: Sequence[int]) -> None:
        self.function, self.arguments, self.positions = function, arguments, positions
        self.layout: Any = None

    def __call__(self, nodes: Sequence[Node]) -> Any:
        """What the call gives for these nodes."""
        flat = nest.flatten(self.arguments)
        for position, node in zip(self.positions, nodes, strict=True):
            flat[position] = handle(node)
        args, kwargs = nest.pack_sequence_as(self.arguments, flat)
        return self.function(*args, **kwargs)


def put_off(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the call gives if it has to wait until a rank is known; NotImplemented if it can be recorded as it is."""
    graph = engine.current_graph()
    if graph is None or not graph.unknown_rank or engine.local.trace is not graph.trace:
        return NotImplemented
    if not function.__module__.startswith(FLOORS):
        return NotImplemented
    flat = nest.flatten((args, kwargs))
    if not any(isinstance(item, Tensor) and graph.open_rank(item.node) for item in flat) or any(map(_is_function, flat)):
        return NotImplemented
    positions = [i for i, item in enumerate(flat) if isinstance(item, (Tensor, Variable))]
    nodes = [tensor(flat[i]).node for i in positions]
    is_open = [graph.open_rank(node) for node in nodes]
    call = Unmade(function, (args, kwargs), positions)
    if _same_for_every_rank(call, nodes):
        return NotImplemented
    found = _tried(call, nodes, is_open)
    if found is None:
        return NotImplemented
    call.layout, avals = found
    return _recorded(graph, call, nodes, avals)


def _is_function(item: Any) -> bool:
    return callable(item) and not isinstance(item, (Tensor, Variable, type))


def _recorded(graph: Graph, call: Unmade, nodes: Sequence[Node], avals: Sequence[Aval | np.dtype]) -> Any:
    known = tuple([a if isinstance(a, Aval) else aval((), a) for a in avals])
    node = engine.record(LATE, tuple(nodes), (Held(call), known))
    results = engine.elements(node)
    graph.unknown_rank.update([n for n, a in zip(results, avals, strict=True) if not isinstance(a, Aval)])
    return nest.pack_sequence_as(call.layout, [EagerTensor(n) for n in results])


def provisional() -> RunScope:
    """A scope in which variables have the shapes that they were made with."""
    return RunScope(lambda variable: variable.aval)


@contextlib.contextmanager
def aside(scope: RunScope) -> Iterator[Trace]:
    """A trace that nobody will run."""
    state = engine.local
    outer, tapes = state.trace, state.tapes
    state.trace, state.tapes = Trace(engine.UNBOUNDED), []
    try:
        with tracing.inner(scope) as inner, seeds.drawn_by_caller():
            yield inner
    finally:
        state.trace, state.tapes = outer, tapes


def _same_for_every_rank(call: Unmade, nodes: Sequence[Node]) -> bool:
    """Whether a call records the same whatever the rank is: element-wise ops, reductions over all axes."""
    with aside(provisional()) as trace:
        try:
            result = call([leaf(node.aval, None) for node in nodes])
        except Exception:
            return False
        made = [item.node for item in nest.flatten(result) if isinstance(item, Tensor)]
        return all(node.trace is trace for node in made) and all(_of_any_rank(node) for node in trace.nodes)


def _of_any_rank(node: Node) -> bool:
    if only_types(node.attrs) or node.op.effect:
        return True
    return node.op.attributes == ("axis", "keepdims") and node.attrs == ((), False) and not node.inputs[0].aval.ndim


def _tried(call: Unmade, nodes: Sequence[Node], is_open: Sequence[bool]) -> tuple[Any, list[Aval | np.dtype]] | None:
    """`(structure, Avals)` of what a call gives, a dtype instead of an Aval for an unknown rank; None if it can have no rank."""
    for extent in EXTENTS:
        found: list[tuple[int, Any, list[Aval]]] = []
        for rank, index_rank in itertools.product(RANKS, INDEX_RANKS):
            if any(known == rank for known, *_ in found):
                continue
            shapes = ((extent,) * rank, (1,) * index_rank)
            with aside(provisional()):
                given = [_sample(n, *shapes) if o else leaf(n.aval, None) for n, o in zip(nodes, is_open, strict=True)]
                try:
                    result = call(given)
                except engine.NeedsValues:
                    return None
                except (InvalidArgumentError, NotFoundError, ValueError, TypeError, IndexError, AssertionError, OverflowError):
                    continue
                made = nest.flatten(result)
                if not made or not all(isinstance(item, Tensor) for item in made):
                    return None
                found.append((rank, nest.map_structure(lambda item: 0, result), [item.node.aval for item in made]))
        if found:
            _, layout, avals = found[0]
            results = [other for *_, other in found if len(other) == len(avals)]
            return layout, [_common(each) for each in zip(*results, strict=True)]
    return None


def _common(avals: Sequence[Aval]) -> Aval | np.dtype:
    """What is the same of all these: the Aval, with what differs not known, or the dtype if ranks differ.

    Integers may say what a shape is, so that what is made with them has to wait too.
    """
    first = avals[0]
    if first.dtype.kind in "iu" or any(a.ndim != first.ndim for a in avals):
        return first.dtype
    axes = list(zip(*[a.shape for a in avals], strict=True))
    sure = len(avals) > 1
    return aval(tuple([e[0] if sure and len(set(e)) == 1 and e[0] < LARGE else PROVISIONAL for e in axes]), first.dtype)


def _sample(node: Node, shape: tuple[int, ...], index_shape: tuple[int, ...]) -> Node:
    dtype = node.aval.dtype
    if dtype.kind in "iu":  # it may say what a shape is
        return engine.constant(np.ones(index_shape, dtype))
    return leaf(aval(shape, dtype), None)
