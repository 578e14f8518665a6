"""Calls on tensors of unknown rank: recorded as one op each, and made when the graph runs and the rank is known."""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.control.graph.extents import only_types
from gradtape._src.control.graph.graph import Graph
from gradtape._src.control.graph.kinds import CONST, LATE, Held
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
REDUCTION = ("axis", "keepdims")
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
        return self.function(*[_with_slices(a) for a in args], **kwargs)


def put_off(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the call gives if it has to wait until a rank is known; NotImplemented if it can be recorded as it is."""
    graph = engine.current_graph()
    if graph is None or not graph.unknown_rank or engine.local.trace is not graph.trace:
        return NotImplemented
    if not function.__module__.startswith(FLOORS) or hasattr(function, "makes_variables"):
        return NotImplemented
    flat = nest.flatten((args, kwargs))
    if not any(isinstance(item, Tensor) and graph.open_rank(item.node) for item in flat) or any(map(_is_function, flat)):
        return NotImplemented
    positions = [i for i, item in enumerate(flat) if isinstance(item, (Tensor, Variable))]
    nodes = [tensor(flat[i]).node for i in positions]
    is_open = [graph.open_rank(node) for node in nodes]
    call = Unmade(function, (args, kwargs), positions)
    if _same_for_every_rank(call, nodes, is_open):
        return NotImplemented
    found = _tried(call, nodes, is_open)
    if found is None:
        return NotImplemented
    call.layout, avals = found
    result = _recorded(graph, call, nodes, avals)
    if function.__name__ == "ensure_shape":
        result.set_shape(args[1] if len(args) > 1 else kwargs["shape"])
    return result


class Bounds(NamedTuple):
    """A slice, as a part of a structure."""

    start: Any
    stop: Any
    step: Any


def _with_slices(value: Any) -> Any:
    if type(value) is Bounds:
        return slice(*value)
    return type(value)(map(_with_slices, value)) if type(value) in (tuple, list) else value


def waits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """What a call gives that needs values while a graph is built: it is made when the graph runs. Else `error` is raised."""
    graph = engine.graph_around()
    args = tuple([nest.map_structure(lambda x: Bounds(x.start, x.stop, x.step) if type(x) is slice else x, a) for a in args])
    flat = nest.flatten((args, kwargs))
    if graph is None or not isinstance(error, engine.NeedsValues) or not function.__module__.startswith(FLOORS):
        raise error
    if any(map(_is_function, flat)):
        raise error
    positions = [i for i, item in enumerate(flat) if isinstance(item, (Tensor, Variable))]
    nodes = [tensor(flat[i]).node for i in positions]
    call = Unmade(function, (args, kwargs), positions)
    if any(map(graph.open_rank, nodes)):
        raise error
    found = _reshaped(call) if function.__name__ == "reshape" else _sampled(call, nodes)
    if found is None:
        raise error
    call.layout, avals = found
    if any(not isinstance(a, Aval) for a in avals) and engine.local.trace is not graph.trace:
        raise error
    return _recorded(graph, call, nodes, avals)


# What unknown extents and integers are in the trials of a call that needs values: extents and values must differ between
# them, so that what is the same in all results does not depend on them.
TRIALS: tuple[tuple[int, Callable[[int], int]], ...] = (
    (7, lambda place: place + 1),
    (5, lambda place: 1),
    (12, lambda place: 0),
    (6, lambda place: 2),
    (2, lambda place: place + 1),
    (3, lambda place: place + 1),
    (1, lambda place: place + 1),
)
ENOUGH = 3  # results of trials


def _sampled(call: Unmade, nodes: Sequence[Node]) -> tuple[Any, list[Aval | np.dtype]] | None:
    """As `_tried`, of a call that is made on values."""
    state = engine.local
    outer, tapes = state.trace, state.tapes
    found: list[tuple[Any, list[Aval]]] = []
    known = {e for n in nodes for e in n.aval.shape if 3 < e < LARGE}  # an unknown extent may have to be another input's
    for extent, value in (*TRIALS, *[(e, TRIALS[0][1]) for e in sorted(known)]):
        if len(found) == ENOUGH:
            break
        state.trace, state.tapes = Trace(engine.UNBOUNDED), []
        try:
            with seeds.drawn_by_caller():
                result = call([_with_value(n, extent, value(k)) for k, n in enumerate(nodes)])
        except (NotImplementedError, InvalidArgumentError, NotFoundError, ValueError, TypeError, IndexError, OverflowError):
            continue
        finally:
            state.trace, state.tapes = outer, tapes
        made = nest.flatten(result)
        if not made or not all(isinstance(item, Tensor) for item in made):
            return None
        found.append((nest.map_structure(lambda item: 0, result), [item.node.aval for item in made]))
    if not found:
        return None
    layout = found[0][0]
    results = [avals for _, avals in found if len(avals) == len(found[0][1])]
    return layout, [_alike(each) for each in zip(*results, strict=True)]


def _reshaped(call: Unmade) -> tuple[Any, list[Aval | np.dtype]]:
    """What a reshape to a shape that depends on values gives."""
    args, kwargs = call.arguments
    x, shape = inspect.signature(call.function).bind(*args, **kwargs).args[:2]
    known = shape if isinstance(shape, (list, tuple)) else [None] * tensor(shape).node.aval.size
    extents = [e if isinstance(e, (int, np.integer)) and 0 <= e < LARGE else PROVISIONAL for e in known]
    return 0, [aval(tuple(map(int, extents)), tensor(x).node.aval.dtype)]


def _alike(avals: Sequence[Aval]) -> Aval | np.dtype:
    if any(a.ndim != avals[0].ndim for a in avals):
        return avals[0].dtype
    axes = zip(*[a.shape for a in avals], strict=True)
    return aval(tuple([e[0] if len(set(e)) == 1 < len(e) else PROVISIONAL for e in axes]), avals[0].dtype)


def _with_value(node: Node, extent: int, value: int) -> Node:
    """A leaf like `node`, for a trial; what is known is itself."""
    if node.value is not None:
        return node
    if node.op is CONST:
        return engine.constant(np.asarray(node.attrs[0].array))
    shape = [extent if e >= LARGE else e for e in node.aval.shape]
    return engine.constant(np.full(shape, value if node.aval.dtype.kind in "iu" else 1, node.aval.dtype))


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


def _same_for_every_rank(call: Unmade, nodes: Sequence[Node], is_open: Sequence[bool]) -> bool:
    """Whether a call records the same whatever the rank is: element-wise ops, reductions over all axes."""
    as_scalars = _recorded_aside(call, [n.aval for n in nodes])
    if as_scalars is None or not all(map(_of_any_rank, as_scalars)):
        return False
    if not any(node.op.attributes == REDUCTION for node in as_scalars):
        return True
    # of a scalar, no axes and all of them are the same: a vector tells
    as_vectors = _recorded_aside(call, [aval((1,), n.aval.dtype) if o else n.aval for n, o in zip(nodes, is_open, strict=True)])
    return as_vectors is not None and all(n.attrs[0] == (0,) for n in as_vectors if n.op.attributes == REDUCTION)


def _recorded_aside(call: Unmade, avals: Sequence[Aval]) -> list[Node] | None:
    """What a call records of tensors like these; None if it cannot be made, or gives what it did not record."""
    with aside(provisional()) as trace:
        try:
            result = call([leaf(of, None) for of in avals])
        except Exception:
            return None
        made = [item.node for item in nest.flatten(result) if isinstance(item, Tensor)]
        return trace.nodes if all(node.trace is trace for node in made) else None


def _of_any_rank(node: Node) -> bool:
    if only_types(node.attrs) or node.op.effect:
        return True
    return node.op.attributes == REDUCTION and node.attrs == ((), False) and not node.inputs[0].aval.ndim


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
