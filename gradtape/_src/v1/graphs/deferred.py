"""Calls on tensors whose shapes are not fully known: a graph keeps them, and makes them when it runs and the shapes are known."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Entry, Operation, active_nodes
from gradtape._src.autodiff.custom import Overrides
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.core import convert, engine, naming, nest
from gradtape._src.core.aval import LARGE, PROVISIONAL, Aval, aval, common
from gradtape._src.core.convert import tensor
from gradtape._src.core.indexed_slices import dense
from gradtape._src.core.op import Attributes, Op
from gradtape._src.core.program import ELEMENT, RAN, Node, Trace
from gradtape._src.core.tensor import EagerTensor, Tensor, handle
from gradtape._src.core.variable import Variable
from gradtape._src.ops.random import seeds
from gradtape._src.ops.sparse.tensor import SparseTensor, without_extents
from gradtape._src.v1.graphs.examples import RANKS, REFUSALS, Example, Examples, Found
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.interpreter import NeedsEager
from gradtape._src.v1.graphs.kinds import CONST, GRADIENT, LATE, Extent, IdentityAttr
from gradtape._src.v1.graphs.names import op_of_sample
from gradtape._src.v1.graphs.replay import nodes_between
from gradtape._src.v1.graphs.retrace import call_of_functions

FLOORS = ("gradtape._src.ops.", "gradtape._src.v1.ops.", "gradtape._src.v1.initial")
FUNCTIONS = ("gradtape._src.control.mapping", "gradtape._src.control.vectorized_map", "gradtape._src.control.loop")
CHOICES = ("cond", "case", "switch_case")  # what chooses is a scalar
# What they call is kept, as they enter something into the graph besides.
ENTERING = ("gradtape._src.v1.ops.losses", "gradtape._src.v1.ops.sparse", "gradtape._src.ops.operators")
AS_THEY_ARE = ("shape", "shape_n", "size", "rank")  # of a known rank, they are ops on shapes


class DeferredCall:
    """A call of a public function that a graph keeps.

    `positions` says where its tensors stand among its arguments, flattened. The call is named after `sample`, the node of its
    first result in an example.
    """

    __slots__ = (
        "arguments", "attributes", "blocked", "function", "layout", "overrides", "positions", "sample", "sampled", "wishes",
    )  # fmt: skip
    blocked: set[int] | None  # the inputs to which no gradient flows, if examples told it
    layout: Any  # how its results are packed
    wishes: list[Any]  # what it draws: the type of the op, its seed, how much

    def __init__(self, function: Callable[..., Any], arguments: Any, positions: Sequence[int]) -> None:
        self.function, self.arguments, self.positions = function, arguments, positions
        self.overrides = engine.local.trace.overrides
        self.sample: Node | None = None
        self.wishes, self.blocked = [], None
        self.attributes: dict[str, Any] = {}  # of the op of the sample, those that are the same in all examples
        self.sampled: list[Node] = []

    def __call__(self, nodes: Sequence[Node]) -> Any:
        """Make the call with these nodes, the last of which are the states that it draws from."""
        flat = nest.flatten(self.arguments, expand_composites=True)
        for position, node in zip(self.positions, nodes, strict=False):
            flat[position] = handle(node)
        args, kwargs = nest.pack_sequence_as(self.arguments, flat, expand_composites=True)
        args = [_with_slices(a) for a in args]
        states = [handle(node) for node in nodes[len(self.positions) :]]
        trace, names = engine.local.trace, self.overrides.names if self.overrides is not None else {}
        outer = trace.overrides
        trace.overrides = Overrides(names) if names else outer
        try:
            with seeds.given(states) if states else contextlib.nullcontext():
                return self.function(*args, **kwargs)
        finally:
            trace.overrides = outer

    def example(self, nodes: Sequence[Node]) -> tuple[Any, list[Aval]]:
        """Return the layout and the Avals of the results for nodes of an example. NotTensors if results are something else."""
        with seeds.noted() as wishes:
            result = self(nodes)
        result = nest.map_structure(lambda x: without_extents(x) if isinstance(x, SparseTensor) else x, result)
        made, layout = nest.flatten_with_spec(result, nest.EXPANDED)
        tensors = [item is not None for item in made]
        made = [item for item in made if item is not None]
        if not made or not all(isinstance(item, Tensor) for item in made):
            raise NotTensors
        self.wishes = wishes
        node = made[0].node.inputs[0] if made[0].node.op is ELEMENT else made[0].node
        shown = {} if node.op in (None, RAN) else dict(zip(node.op.attributes, node.attrs, strict=True))
        if self.sample is None:
            self.sample, self.sampled, self.attributes = node, list(nodes), shown
        self.attributes = {name: value for name, value in self.attributes.items() if shown.get(name) == value}
        blocked = _blocked(nodes, [item.node for item in made])
        self.blocked = blocked if self.blocked is None else self.blocked & blocked
        return (layout, tensors), [item.node.aval for item in made]

    def gradient(self, op: Operation, *grads: Any) -> list[Any]:
        """Defer the gradient, too: the call is made again when the shapes are there, and differentiated."""
        inputs, entry = op.entry.inputs, op.entry
        flows = [n.aval.inexact and op.needed[i] and i not in (self.blocked or ()) for i, n in enumerate(inputs)]
        wanted = [i for i, n in enumerate(inputs) if flows[i] and inputs.index(n) == i]  # one that it takes twice gets it once
        given = [d for d in grads if d is not None]
        if not wanted or not given:
            return [None] * len(inputs)
        call = CallGradient(self, len(inputs), wanted, [d is not None for d in grads])
        avals = tuple([inputs[i].aval for i in wanted])
        made = engine.elements(engine.record_as(LATE, (*inputs, *[d.node for d in given]), (IdentityAttr(call), avals), avals))
        graph = engine.graph_around()
        graph.unknown_rank.update([n for n, i in zip(made, wanted, strict=True) if graph.open_rank(inputs[i])])
        found = dict(zip(wanted, map(handle, made), strict=True))
        return [found.get(i) for i in range(len(entry.inputs))]


class CallGradient:
    """The gradient of a deferred call, as a call: of its inputs and of `given` cotangents of its results, in this order."""

    __slots__ = ("_call", "_count", "_given", "_wanted", "sample", "sampled")

    def __init__(self, call: Any, count: int, wanted: Sequence[int], given: Sequence[bool]) -> None:
        self._call, self._count, self._wanted, self._given = call, count, wanted, given
        self.sample: Node | None = None
        self.sampled: list[Node] = []

    def __call__(self, nodes: Sequence[Node]) -> list[Any]:
        """Return the gradients to the wanted inputs, dense; zeros where nothing flows."""
        inputs, cotangents = nodes[: self._count], iter(nodes[self._count :])
        sources = [handle(inputs[i]) for i in self._wanted]
        with GradientTape() as tape:
            tape.watch(sources)
            results = [r for r in nest.flatten(self._call(inputs), expand_composites=True) if r is not None]
        pairs = [(y, handle(next(cotangents))) for y, given in zip(results, self._given, strict=True) if given]
        targets, flows = zip(*pairs, strict=True)
        found = tape.gradient(list(targets), sources, output_gradients=list(flows), unconnected_gradients="zero")
        return [dense(d) for d in found]

    def gradient(self, op: Operation, *grads: Any) -> list[Any]:
        """Defer the gradient of the gradient."""
        return DeferredCall.gradient(self, op, *grads)  # type: ignore[arg-type]

    @property
    def blocked(self) -> None:
        """The inputs to which no gradient flows: it is not known of which."""


class NotTensors(Exception):
    """The results of a call are no nest of tensors."""


class Bounds(NamedTuple):
    """A slice, as a part of a structure."""

    start: Any
    stop: Any
    step: Any


def _without_slices(value: Any) -> Any:
    return nest.map_structure(lambda x: Bounds(x.start, x.stop, x.step) if type(x) is slice else x, value)


def _with_slices(value: Any) -> Any:
    if type(value) is Bounds:
        return slice(*value)
    return type(value)(map(_with_slices, value)) if type(value) in (tuple, list) else value


def _blocked(inputs: Sequence[Node], results: Sequence[Node]) -> set[int]:
    """Return the positions of the inputs to which no gradient flows from `results`."""
    between = nodes_between(inputs, results)
    if any(n.op is RAN or n.inputs is None for n in between):  # it had to run, and nobody knows of what
        return set()
    rules = [None if n.trace is None else n.trace.gradients.get(n.index) for n in between]
    entries = [Entry(n, n.inputs, rule) for n, rule in zip(between, rules, strict=True)]
    return {i for i, n in enumerate(inputs) if active_nodes(entries, {n: 0}).keys().isdisjoint(results)}


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[DeferredCall, list[Node]]:
    """Return a call, and the nodes of its tensors."""
    args = tuple([_without_slices(a) for a in args])
    flat = nest.flatten((args, kwargs), expand_composites=True)
    if any(type(item) is Extent for item in flat):
        flat = [_tensor_of(item) if type(item) is Extent else item for item in flat]
        args, kwargs = nest.pack_sequence_as((args, kwargs), flat, expand_composites=True)
    positions = [i for i, item in enumerate(flat) if isinstance(item, (Tensor, Variable))]
    return DeferredCall(function, (args, kwargs), positions), [tensor(flat[i]).node for i in positions]


def _tensor_of(extent: Extent) -> Tensor:
    whole = handle(extent.node)
    return whole if not extent.node.aval.ndim else whole[np.unravel_index(extent.position, extent.node.aval.shape)]


def is_open(graph: Graph, node: Node) -> bool:
    """Return whether the shape of a node is not fully known."""
    return type(node.aval) is not tuple and (node.aval.large or graph.open_rank(node))


def keeps_gradient(graph: Graph, nodes: Iterable[Node]) -> bool:
    """Return whether a gradient through these nodes has to wait for shapes."""
    return any(n.op is LATE or n.op is GRADIENT or is_open(graph, n) for n in nodes)


def passes(function: Callable[..., Any]) -> bool:
    """Return whether a function is no call that a graph keeps: what it calls is."""
    module = function.__module__
    if module in ENTERING or function.__name__ == "__init__":
        return True
    return not module.startswith((*FLOORS, *FUNCTIONS)) or hasattr(function, "makes_variables")


def put_off(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Defer a call that the graph keeps; NotImplemented if it can be recorded as it is."""
    graph, op = engine.graph_around(), getattr(function, "op", None)
    if op is not None and op.function is function:  # it is recorded as it is
        return NotImplemented
    if graph is None or passes(function):
        return NotImplemented
    flat = nest.flatten((args, kwargs), expand_composites=True)
    if not any(type(item) is Extent or (isinstance(item, Tensor) and is_open(graph, item.node)) for item in flat):
        return NotImplemented
    changes = function.__name__.startswith(("assign", "scatter", "batch_scatter"))
    if changes and any(isinstance(item, Variable) for item in flat):
        naming.calls.stack[-1].through = True
        return NotImplemented
    functions = _takes_function(function, flat)
    ranks = any(isinstance(item, Tensor) and graph.open_rank(item.node) for item in flat)
    if not ranks and (functions or function.__name__ in AS_THEY_ARE or function.__module__.startswith(FUNCTIONS)):
        naming.calls.stack[-1].through = functions or function.__module__.startswith(FUNCTIONS)
        return NotImplemented
    call, nodes = _call(function, args, kwargs)
    if functions:
        naming.calls.stack[-1].through = True
        if function.__name__ in CHOICES or engine.local.trace is not graph.trace:
            return NotImplemented
        return call_of_functions(graph, call, nodes, [graph.open_rank(n) for n in nodes], RANKS)
    return _kept(graph, call, nodes)


def waits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """Defer a call that needs concrete values to session time; re-raise `error` if it cannot be deferred."""
    graph = engine.graph_around()
    if graph is None or not isinstance(error, engine.NeedsValues) or not function.__module__.startswith(FLOORS):
        raise error
    call, nodes = _call(function, args, kwargs)
    if _takes_function(function, nest.flatten((args, kwargs), expand_composites=True)):
        raise error
    result = _kept(graph, call, nodes)
    if result is NotImplemented:
        raise error
    return result


def _kept(graph: Graph, call: DeferredCall, nodes: Sequence[Node]) -> Any:
    """Record a deferred call as a node of the graph, or of a branch or loop in it."""
    by_itself = False
    hints = _hints(call.arguments)
    found: tuple[Any, list[Aval | np.dtype]] | None
    try:
        tried = examples_of(graph).try_out(nodes, hints, lambda e: call.example(e.of(nodes)))
        found, by_itself = _learned(tried), tried.by_itself
    except NotTensors:
        naming.calls.stack[-1].through = True
        return NotImplemented
    except REFUSALS:
        found, by_itself = _told(graph, call), True
        if found is None:
            raise
    except (NotImplementedError, NeedsEager):
        found, by_itself = _sampled(graph, call, nodes), True
    if found is None:
        naming.calls.stack[-1].through = True
        return NotImplemented
    call.layout, avals = found
    return _recorded(graph, call, nodes, avals, by_itself)


def _hints(arguments: Any) -> list[int | tuple[int, ...]]:
    """Return likely extents: the numbers among the arguments of a call, and the shapes of arrays and lists."""
    args, kwargs = arguments
    arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, (list, tuple, np.ndarray))]
    shapes = [_shape_of_list(a) for a in arrays]
    return [i for i in nest.flatten(arguments) if type(i) is int and 0 < i < 1 << 16] + [s for s in shapes if s]


def _shape_of_list(value: Any) -> tuple[int, ...]:
    if isinstance(value, np.ndarray):
        return value.shape
    if not isinstance(value, (list, tuple)) or not value or isinstance(value, Bounds):
        return ()
    return (len(value), *_shape_of_list(value[0]))


def examples_of(graph: Graph) -> Examples:
    """Return the examples of a graph."""
    if graph.examples is None:
        graph.examples = Examples(graph)
    return graph.examples


def _learned(tried: Found) -> tuple[Any, list[Aval | np.dtype]]:
    """Return the layout, and for each result the common part of all examples."""
    layout, first = tried.results[0]
    if any(len(avals) != len(first) for _, avals in tried.results):
        raise ValueError(
            "Cannot infer argument `num` from shape: how many tensors there are depends on an extent that is not known."
        )
    if not tried.ranked:
        return layout, [a.dtype for a in first]
    return layout, [common(each, tried.doubtful) for each in zip(*[avals for _, avals in tried.results], strict=True)]


def inferred(graph: Graph, op: Op, inputs: tuple[Node, ...], attrs: Attributes) -> Any:
    """Return the Aval that an op gives (a tuple of them; a dtype for an unknown rank), and whether its inputs fit by
    themselves only.

    None if its inputs have known shapes.
    """
    if op in (LATE, GRADIENT) or op.effect or not any(is_open(graph, n) for n in inputs):
        return None
    holds = op.structured
    if holds and not any(map(graph.open_rank, inputs)):
        return None
    many = False

    def attempt(example: Example) -> tuple[None, list[Aval]]:
        nonlocal many
        given = example.of(inputs)
        result: Any
        if holds:
            made = example.record(op, attrs, [n.aval for n in inputs], given)
            result = tuple([n.aval for n in made]) if isinstance(made, list) else made.aval
        else:
            result = op.result(tuple([n.aval for n in given]), attrs)
        many = type(result) is tuple
        return None, list(result) if many else [result]

    hints = [i for i in nest.flatten(attrs) if type(i) is int and 1 < i < 1 << 16]
    stated = [value for name, value in zip(op.attributes, attrs, strict=True) if name in RESULT_SIZES]
    try:
        tried = examples_of(graph).try_out(inputs, hints, attempt)
    except (NeedsEager, NotImplementedError):
        return None
    except REFUSALS:
        if not stated:
            raise
        return aval(stated[0], inputs[0].aval.dtype), True
    _, avals = _learned(tried)
    return tuple(avals) if many else avals[0], tried.by_itself


RESULT_SIZES = ("input_sizes", "filter_sizes")  # attributes that state the shape of a result: of the transposes of a convolution

# What unknown extents and numbers are in the trials of a call that needs values: extents and values must differ between
# them, so that what is the same in all results does not depend on them.
TRIALS: tuple[tuple[int, Any], ...] = (
    (7, lambda place, size: place + 1),
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
)
INTEGERS: tuple[Any, ...] = ([1], [[1]], [1, 1], [2, 3], 1, [0, 1], [1, 0], [0, 1, 2], [1, 2, 0], [0, 1, 2, 3], [3, 2, 1, 0])
# Axes: each once.
ORDERS: tuple[Any, ...] = (
    lambda place, size: np.arange(size),
    lambda place, size: np.arange(size)[::-1],
    lambda place, size: np.arange(size) + 1,
)
ENOUGH = 6  # results of trials
ONE = nest.flatten_with_spec(0)[1], [True]  # a single tensor, as a structure


def _sampled(graph: Graph, call: DeferredCall, nodes: Sequence[Node]) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Learn the results like `_learned`, of a call that needs values: it is made on some."""
    if (told := _told(graph, call)) is not None:
        return told
    found: list[tuple[Any, list[Aval]]] = []
    seen: set[bytes] = set()  # the integers that were taken
    known = sorted({e for n in nodes for e in n.aval.shape if 1 < e < LARGE})  # what is not known may have to be another input's
    more = [(e, TRIALS[0][1]) for e in known] + [(size, lambda place, _, e=e: e) for e in known for size in (1, 2, 3)]
    ranks = sorted({n.aval.ndim for n in nodes if n.aval.ndim})
    trials = (*TRIALS, *more, *[(rank, order) for rank in ranks for order in ORDERS])
    fixed = any(n.value is None and n.op is not CONST for n in nodes)
    open_ranks = {n.aval.dtype.kind in "iu" for n in nodes if graph.open_rank(n)}
    samples = itertools.product(RANKS if False in open_ranks else (0,), trials, INTEGERS if True in open_ranks else (None,))
    of_rank: Counter[int] = Counter()
    for rank, (extent, value), array in samples:
        if of_rank[rank] == ENOUGH:
            continue
        with engine.recording_in(Trace(engine.UNBOUNDED)), contextlib.suppress(NotImplementedError, *REFUSALS):
            given = [
                _with_value(graph, n, extent, functools.partial(value, k), (rank, array), fixed) for k, n in enumerate(nodes)
            ]
            with seeds.drawn_from(seeds.Global(0)):
                found.append(call.example(given))
            of_rank[rank] += 1
            seen.add(b"".join([n.value.tobytes() for n in given if n.value is not None and n.aval.dtype.kind in "iu"]))
    if not found:
        return None
    if len(seen) == 1 and seen != {b""}:  # extents that never differ may be these integers
        found.append((found[0][0], [aval((PROVISIONAL,) * a.ndim, a.dtype) for a in found[0][1]]))
    ranked = sum(map(graph.open_rank, nodes)) < 2  # several had one rank each in a trial
    return _learned(Found(found, doubtful=(0,), ranked=ranked))  # a result that was empty in all trials is not always


def _told(graph: Graph, call: DeferredCall) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the results of a call that follow from its arguments; None if it has to be tried."""
    known = TOLD.get(call.function.__name__)
    if known is None or not call.function.__module__.startswith(TELLING):
        return None
    args, kwargs = call.arguments
    return known(graph, **inspect.signature(call.function).bind(*args, **kwargs).arguments)


def _reshaped(
    graph: Graph, shape: Any, tensor: Any = None, input: Any = None, name: Any = None
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the result of a reshape to a shape that depends on values."""
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
    """Return the results of a split whose sizes depend on values."""
    x, axis = convert.tensor(value), axis if isinstance(axis, int) else None
    if num is None or graph.open_rank(x.node) or axis is None:
        return None
    shape = list(x.node.aval.shape)
    shape[axis] = PROVISIONAL
    return (nest.flatten_with_spec([0] * num)[1], [True] * num), [aval(tuple(shape), x.node.aval.dtype)] * num


def _turned(graph: Graph, a: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the result of a transpose whose order depends on values."""
    x = convert.tensor(a).node
    return None if graph.open_rank(x) else (ONE, [aval((PROVISIONAL,) * x.aval.ndim, x.aval.dtype)])


def _losses(
    graph: Graph, inputs: Any = None, logits: Any = None, time_major: bool = True, logits_time_major: bool = True, **others: Any
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return a loss for each row of a batch."""
    x = convert.tensor(logits if inputs is None else inputs).node.aval
    return (ONE, [aval((x.shape[time_major and logits_time_major],), x.dtype)]) if x.ndim == 3 else None


def _of_stated_shape(
    graph: Graph, output_shape: Any = None, input_sizes: Any = None, filter_sizes: Any = None, **others: Any
) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return the result of the transpose of a convolution, whose shape is an argument."""
    shape = next(s for s in (output_shape, input_sizes, filter_sizes) if s is not None)
    return _reshaped(graph, shape, next(x for x in others.values() if isinstance(x, Tensor)))


def _cropped(graph: Graph, crop_size: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]] | None:
    """Return a picture of this size for each box, of as many channels as the image has."""
    height, width = crop_size if isinstance(crop_size, (list, tuple)) else (None, None)
    return _reshaped(graph, [None, height, width, None], convert.tensor(0.0))


def _picked(graph: Graph, scores: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]]:
    """Return the numbers of the boxes that a suppression leaves, as many as there are."""
    return ONE, [aval((PROVISIONAL,), np.dtype(np.int32))]


def _picked_with_scores(graph: Graph, scores: Any, **others: Any) -> tuple[Any, list[Aval | np.dtype]]:
    """Return the numbers of the boxes that a suppression leaves, and their scores."""
    both = nest.flatten_with_spec((0, 0))[1], [True, True]
    return both, [aval((PROVISIONAL,), np.dtype(np.int32)), aval((PROVISIONAL,), convert.tensor(scores).node.aval.dtype)]


TELLING = (
    "gradtape._src.ops.array.",
    "gradtape._src.ops.image.",
    "gradtape._src.ops.nn.",
    "gradtape._src.v1.ops.",
)  # where those functions stand
TOLD: dict[str, Callable[..., tuple[Any, list[Aval | np.dtype]] | None]] = {
    "reshape": _reshaped,
    "broadcast_to": _reshaped,
    "split": _parts,
    "transpose": _turned,
    "ctc_loss": _losses,
    "conv1d_transpose": _of_stated_shape,
    "conv2d_transpose": _of_stated_shape,
    "conv3d_transpose": _of_stated_shape,
    "conv_transpose": _of_stated_shape,
    "atrous_conv2d_transpose": _of_stated_shape,
    "depthwise_conv2d_backprop_input": _of_stated_shape,
    "depthwise_conv2d_backprop_filter": _of_stated_shape,
    "crop_and_resize": _cropped,
    "non_max_suppression": _picked,
    "non_max_suppression_overlaps": _picked,
    "non_max_suppression_with_scores": _picked_with_scores,
}


def _with_value(
    graph: Graph, node: Node, extent: int, value: Callable[[int], Any], open_rank: tuple[int, Any], fixed: bool
) -> Node:
    """Return a leaf like `node`, for a trial; of `open_rank`, or that array for integers. A known value is itself if it is
    `fixed`.
    """
    if node.value is not None and fixed:
        return node
    if node.op is CONST and fixed:
        return engine.constant(np.asarray(node.attrs[0].array))
    dtype = node.aval.dtype
    if graph.open_rank(node) and dtype.kind in "iu":
        return engine.constant(np.array(open_rank[1], dtype))
    shape = [extent] * open_rank[0] if graph.open_rank(node) else [extent if e >= LARGE else e for e in node.aval.shape]
    size = math.prod(shape)
    number = value(size) if dtype.kind in "iufcV" else value(size) % 2 if dtype.kind == "b" else b"1" if dtype.hasobject else 1
    filled = np.broadcast_to(number, size if shape else (1,))
    return engine.constant(filled.reshape(shape).astype(dtype))


def _takes_function(function: Callable[..., Any], flat: Sequence[Any]) -> bool:
    return any(map(_is_function, flat[1:] if function.__name__ == "__call__" else flat))


def _is_function(item: Any) -> bool:
    return callable(item) and not isinstance(item, (Tensor, Variable, type))


def _noted(op: Op) -> Op:
    """Return the op, whose name the graph has noted."""
    overrides = engine.local.trace.overrides
    return op if overrides is None else overrides(op)


def _recorded(graph: Graph, call: DeferredCall, nodes: Sequence[Node], avals: Sequence[Aval | np.dtype], by_itself: bool) -> Any:
    known = tuple([a if isinstance(a, Aval) else aval((), a) for a in avals])
    states = [seeds.draw(*wish).node for wish in call.wishes]
    graph.shown = None if call.sample is None else op_of_sample(call.sample)
    try:
        node = engine.record_as(_noted(LATE), (*nodes, *states), (IdentityAttr(call), known), known)
    finally:
        graph.shown = None
    results = engine.elements(node)
    graph.unknown_rank.update([n for n, a in zip(results, avals, strict=True) if not isinstance(a, Aval)])
    if by_itself:
        graph.opened_nodes.update(results)
    layout, tensors = call.layout
    made = iter(results)
    return nest.unflatten(layout, [EagerTensor(next(made)) if is_tensor else None for is_tensor in tensors])
