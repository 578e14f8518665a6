"""Calls on tensors of unknown rank: recorded as one op each, and made when the graph runs and the rank is known."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.core import convert, engine, nest, tracing
from gradtape._src.core.aval import LARGE, PROVISIONAL, Aval, aval
from gradtape._src.core.convert import tensor
from gradtape._src.core.errors import InvalidArgumentError, NotFoundError
from gradtape._src.core.program import Node, Trace, leaf
from gradtape._src.core.tensor import EagerTensor, Tensor, handle
from gradtape._src.core.variable import Variable
from gradtape._src.ops.random import seeds
from gradtape._src.v1.graphs.by_rank import call_of_functions
from gradtape._src.v1.graphs.extents import only_types
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.kinds import CONST, LATE, Held
from gradtape._src.v1.graphs.replay import RunScope

# What is tried for an unknown rank, to see how many results a call has, and of which dtypes and ranks.
RANKS = (2, 1, 3, 4, 0)
INTEGERS: tuple[Any, ...] = ([1], [1, 1], [2, 3], 1, [0, 1], [1, 0], [[1]], [0, 1, 2], [1, 2, 0], [0, 1, 2, 3], [3, 2, 1, 0])
REDUCTION = ("axis", "keepdims")
EXTENTS = (PROVISIONAL, 1, 12)  # of one extent, an axis can be squeezed; of twelve, it can be divided
FLOORS = ("gradtape._src.ops.", "gradtape._src.v1.ops.", "gradtape._src.v1.initial")
FUNCTIONS = ("gradtape._src.control.mapping", "gradtape._src.control.vectorized_map", "gradtape._src.control.loop")
CHOICES = ("cond", "case", "switch_case")  # what chooses is a scalar


class Unmade:
    """A call of a public function that waits: `positions` says where its tensors stand among its arguments, flattened."""

    __slots__ = ("arguments", "function", "layout", "positions", "seed")

    def __init__(self, function: Callable[..., Any], arguments: Any, positions: Sequence[int]) -> None:
        self.function, self.arguments, self.positions = function, arguments, positions
        self.layout: Any = None
        self.seed: int | None = engine.graph_around().seed

    def next_seed(self) -> int:
        """The seed of what the call draws in a run, another one each time."""
        self.seed = secrets.randbits(31) if self.seed is None else self.seed + 1
        return self.seed

    def __call__(self, nodes: Sequence[Node]) -> Any:
        """What the call gives for these nodes."""
        flat = nest.flatten(self.arguments, expand_composites=True)
        for position, node in zip(self.positions, nodes, strict=True):
            flat[position] = handle(node)
        args, kwargs = nest.pack_sequence_as(self.arguments, flat, expand_composites=True)
        return self.function(*[_with_slices(a) for a in args], **kwargs)


def put_off(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the call gives if it has to wait until a rank is known; NotImplemented if it can be recorded as it is."""
    graph = engine.current_graph()
    if graph is None or not graph.unknown_rank or engine.local.trace is not graph.trace:
        return NotImplemented
    if not function.__module__.startswith((*FLOORS, *FUNCTIONS)) or hasattr(function, "makes_variables"):
        return NotImplemented
    flat = nest.flatten((args, kwargs), expand_composites=True)
    if not any(isinstance(item, Tensor) and graph.open_rank(item.node) for item in flat):
        return NotImplemented
    positions = [i for i, item in enumerate(flat) if isinstance(item, (Tensor, Variable))]
    nodes = [tensor(flat[i]).node for i in positions]
    is_open = [graph.open_rank(node) for node in nodes]
    call = Unmade(function, (args, kwargs), positions)
    if _takes_function(function, flat):
        if function.__name__ in CHOICES:
            return NotImplemented
        return call_of_functions(graph, call, nodes, is_open, RANKS)
    if _same_for_every_rank(call, nodes, is_open):
        return NotImplemented
    found = _told(graph, call) or _tried(call, nodes, is_open)
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
    flat = nest.flatten((args, kwargs), expand_composites=True)
    if graph is None or not isinstance(error, engine.NeedsValues) or not function.__module__.startswith(FLOORS):
        raise error
    if _takes_function(function, flat):
        raise error
    positions = [i for i, item in enumerate(flat) if isinstance(item, (Tensor, Variable))]
    nodes = [tensor(flat[i]).node for i in positions]
    call = Unmade(function, (args, kwargs), positions)
    if any(map(graph.open_rank, nodes)):
        raise error
    found = _told(graph, call) or _sampled(call, nodes)
    if found is None:
        raise error
    call.layout, avals = found
    if any(not isinstance(a, Aval) for a in avals) and engine.local.trace is not graph.trace:
        raise error
    return _recorded(graph, call, nodes, avals)


# What unknown extents and numbers are in the trials of a call that needs values: extents and values must differ between
# them, so that what is the same in all results does not depend on them.
TRIALS: tuple[tuple[int, Any], ...] = (
    (7, lambda place, size: place + 1),
    (5, lambda place, size: 1),
    (12, lambda place, size: 0),
    (6, lambda place, size: 2),
    (2, lambda place, size: place + 1),
    (3, lambda place, size: place + 1),
    (1, lambda place, size: place + 1),
    (2, lambda place, size: 3),
    (3, lambda place, size: 4),
)
# Axes: each once.
ORDERS: tuple[Any, ...] = (
    lambda place, size: np.arange(size),
    lambda place, size: np.arange(size)[::-1],
    lambda place, size: np.arange(size) + 1,
)
ENOUGH = 3  # results of trials
ONE = nest.flatten_with_spec(0)[1]  # a single tensor, as a structure


def _sampled(call: Unmade, nodes: Sequence[Node]) -> tuple[Any, list[Aval | np.dtype]] | None:
    """As `_tried`, of a call that is made on values."""
    state = engine.local
    outer, tapes = state.trace, state.tapes
    found: list[tuple[Any, list[Aval]]] = []
    known = sorted({e for n in nodes for e in n.aval.shape if 1 < e < LARGE})  # what is not known may have to be another input's
    more = [(e, TRIALS[0][1]) for e in known] + [(size, lambda place, _, e=e: e) for e in known for size in (1, 2, 3)]
    ranks = sorted({n.aval.ndim for n in nodes if n.aval.ndim})
    for extent, value in (*TRIALS, *more, *[(rank, order) for rank in ranks for order in ORDERS]):
        if len(found) == ENOUGH:
            break
        state.trace, state.tapes = Trace(engine.UNBOUNDED), []
        try:
            with seeds.drawn_from(seeds.Global(0)):
                result = call([_with_value(n, extent, functools.partial(value, k)) for k, n in enumerate(nodes)])
        except (NotImplementedError, InvalidArgumentError, NotFoundError, ValueError, TypeError, IndexError, OverflowError):
            continue
        finally:
            state.trace, state.tapes = outer, tapes
        made, layout = nest.flatten_with_spec(result, nest.EXPANDED)
        if not made or not all(isinstance(item, Tensor) for item in made):
            return None
        found.append((layout, [item.node.aval for item in made]))
    if not found:
        return None
    layout = found[0][0]
    results = [avals for _, avals in found if len(avals) == len(found[0][1])]
    return layout, [_alike(each) for each in zip(*results, strict=True)]


def _told(graph: Graph, call: Unmade) -> tuple[Any, list[Aval | np.dtype]] | None:
    """What the arguments say that a call gives; None if it has to be tried."""
    known = TOLD.get(call.function.__name__)
    if known is None:
        return None
    args, kwargs = call.arguments
    return known(graph, **inspect.signature(call.function).bind(*args, **kwargs).arguments)


def _reshaped(
    graph: Graph, shape: Any, tensor: Any = None, input: Any = None, name: Any = None
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """What a reshape to a shape that depends on values gives."""
    dtype = convert.tensor(input if tensor is None else tensor).node.aval.dtype
    if not isinstance(shape, (list, tuple)):
        vector = convert.tensor(shape).node
        if vector.aval.large or (vector.trace is graph.trace and graph.open_rank(vector)):
            return ONE, [dtype]
        shape = [None] * vector.aval.size
    extents = [e if isinstance(e, (int, np.integer)) and 0 <= e < LARGE else PROVISIONAL for e in shape]
    return ONE, [aval(tuple(map(int, extents)), dtype)]


def _parts(
    graph: Graph, value: Any, num_or_size_splits: Any, axis: Any = 0, num: Any = None, name: Any = None
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """What is cut into parts whose sizes depend on values."""
    x, axis = convert.tensor(value), axis if isinstance(axis, int) else None
    if num is None or graph.open_rank(x.node) or axis is None:
        return None
    shape = list(x.node.aval.shape)
    shape[axis] = PROVISIONAL
    return nest.flatten_with_spec([0] * num)[1], [aval(tuple(shape), x.node.aval.dtype)] * num


def _turned(graph: Graph, a: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]] | None:
    """What has its axes in an order that depends on values."""
    x = convert.tensor(a).node
    return None if graph.open_rank(x) else (ONE, [aval((PROVISIONAL,) * x.aval.ndim, x.aval.dtype)])


def _losses(
    graph: Graph, inputs: Any = None, logits: Any = None, time_major: bool = True, logits_time_major: bool = True, **others: Any
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """A loss for each row of a batch."""
    x = convert.tensor(logits if inputs is None else inputs).node.aval
    return (ONE, [aval((x.shape[time_major and logits_time_major],), x.dtype)]) if x.ndim == 3 else None


TOLD: dict[str, Callable[..., tuple[Any, list[Aval | np.dtype]] | None]] = {
    "reshape": _reshaped,
    "broadcast_to": _reshaped,
    "split": _parts,
    "transpose": _turned,
    "ctc_loss": _losses,
}


def _alike(avals: Sequence[Aval]) -> Aval | np.dtype:
    if any(a.ndim != avals[0].ndim for a in avals):
        return avals[0].dtype
    axes = zip(*[a.shape for a in avals], strict=True)
    return aval(tuple([e[0] if len(set(e)) == 1 < len(e) else PROVISIONAL for e in axes]), avals[0].dtype)


def _with_value(node: Node, extent: int, value: Callable[[int], Any]) -> Node:
    """A leaf like `node`, for a trial; what is known is itself."""
    if node.value is not None:
        return node
    if node.op is CONST:
        return engine.constant(np.asarray(node.attrs[0].array))
    shape = [extent if e >= LARGE else e for e in node.aval.shape]
    size = math.prod(shape)
    filled = np.broadcast_to(value(size) if node.aval.dtype.kind in "iuf" else 1, size if shape else (1,))
    return engine.constant(filled.reshape(shape).astype(node.aval.dtype))


def _takes_function(function: Callable[..., Any], flat: Sequence[Any]) -> bool:
    return any(map(_is_function, flat[1:] if function.__name__ == "__call__" else flat))


def _is_function(item: Any) -> bool:
    return callable(item) and not isinstance(item, (Tensor, Variable, type))


def _recorded(graph: Graph, call: Unmade, nodes: Sequence[Node], avals: Sequence[Aval | np.dtype]) -> Any:
    known = tuple([a if isinstance(a, Aval) else aval((), a) for a in avals])
    node = engine.record(LATE, tuple(nodes), (Held(call), known))
    results = engine.elements(node)
    graph.unknown_rank.update([n for n, a in zip(results, avals, strict=True) if not isinstance(a, Aval)])
    return nest.unflatten(call.layout, [EagerTensor(n) for n in results])


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
    kinds = {_may_be_structure(n) for n, o in zip(nodes, is_open, strict=True) if o}
    for extent in EXTENTS:
        found: list[tuple[Any, list[Aval]]] = []
        for rank in RANKS if False in kinds else (0,):
            before = len(found)
            for array in INTEGERS if True in kinds else (None,):
                if len(found) - before == ENOUGH:
                    break
                with aside(provisional()):
                    given = [
                        _sample(n, (extent,) * rank, array) if o else leaf(n.aval, None)
                        for n, o in zip(nodes, is_open, strict=True)
                    ]
                    try:
                        result = call(given)
                    except engine.NeedsValues:
                        return None
                    except (
                        InvalidArgumentError,
                        NotFoundError,
                        ValueError,
                        TypeError,
                        IndexError,
                        AssertionError,
                        OverflowError,
                    ):
                        continue
                    made, layout = nest.flatten_with_spec(result, nest.EXPANDED)
                    if not made or not all(isinstance(item, Tensor) for item in made):
                        return None
                    found.append((layout, [item.node.aval for item in made]))
        if found:
            layout, avals = found[0]
            results = [other for _, other in found if len(other) == len(avals)]
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


def _may_be_structure(node: Node) -> bool:
    """Whether a node may say what a shape is."""
    return node.aval.dtype.kind in "iu"


def _sample(node: Node, shape: tuple[int, ...], array: Any) -> Node:
    if _may_be_structure(node):
        return engine.constant(np.array(array, node.aval.dtype))
    return leaf(aval(shape, node.aval.dtype), None)
