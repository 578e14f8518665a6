"""Deferred calls: a graph keeps a call whose ops depend on unknown shapes, and makes it at session time, when they are known."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Entry, Operation, active_nodes
from gradtape._src.autodiff.overrides import Overrides
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.control.scope import TENSOR, ResultStructure, flatten_results
from gradtape._src.core.base import naming
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import RAN, Node, producer
from gradtape._src.core.programs.structured import BRANCH, LOOP, StructuredOp
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.indexed_slices import IndexedSlices, dense
from gradtape._src.core.tensors.tensor import Stored, Tensor, handle
from gradtape._src.core.values.aval import Aval, aval, changes, common, has_no_rank, unranked, with_rows
from gradtape._src.core.values.dim import Dim, dims, unknown
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.core.values.ways import Path, following
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import range_
from gradtape._src.ops.array.extents import shape
from gradtape._src.ops.random import seeds
from gradtape._src.ops.sparse.tensor import SparseTensor, without_extents
from gradtape._src.v1.graphs.aside import Aside, Shapes, general, looked_at, symbols_in, symbols_of
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.interpreter import NeedsEager
from gradtape._src.v1.graphs.kinds import GRADIENT, LATE, late
from gradtape._src.v1.graphs.names import op_of_sample
from gradtape._src.v1.graphs.replay import Replay, RunScope, nodes_between

FLOORS = ("gradtape._src.ops.", "gradtape._src.operators.", "gradtape._src.v1.ops.", "gradtape._src.v1.initial")
FUNCTIONS = ("gradtape._src.control.mapping", "gradtape._src.control.vectorized_map", "gradtape._src.control.loop")
# The calls inside of these functions are deferred, not they themselves, since they add other things to the graph.
ENTERING = ("gradtape._src.v1.ops.losses", "gradtape._src.v1.ops.sparse.sparse_placeholder", "gradtape._src.ops.operators")
AS_THEY_ARE = ("shape", "shape_n", "size", "rank")  # functions of shapes, each of which is one op for all extents of a rank


class DeferredCall:
    """A deferred call of a public function.

    Its arguments are the `leaves` of the nest `spec`, with tensors at `positions`. The call is named after `sample`, the node of
    its first result in an Aside.
    """

    __slots__ = (
        "attributes", "blocked", "function", "leaves", "overrides", "positions", "sample", "sampled", "sliced", "spec",
        "structure", "wishes",
    )  # fmt: skip
    blocked: set[int] | None  # inputs that get no gradient, as far as known
    sliced: set[int] | None  # inputs whose gradients are IndexedSlices, as far as known
    structure: ResultStructure  # of its results
    wishes: list[Any]  # its random draws: op type, seed, count

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any], spec: Any, positions: Sequence[int]) -> None:
        self.function, self.leaves, self.spec, self.positions = function, leaves, spec, positions
        self.overrides = engine.local.trace.overrides
        self.sample: Node | None = None
        self.wishes, self.blocked, self.sliced = [], None, None
        self.attributes: dict[str, Any] = {}  # attributes of the sample's op that do not depend on extents
        self.sampled: list[Node] = []

    def __call__(self, nodes: Sequence[Node]) -> Any:
        """Make the call on these nodes, followed by those from `_draws`."""
        flat = [*self.leaves]
        for position, node in zip(self.positions, nodes, strict=False):
            flat[position] = handle(node)
        args, kwargs = nest.unflatten(self.spec, flat)
        args = [_with_slices(a) for a in args]
        begun = list(map(handle, nodes[len(self.positions) :]))
        each = len(begun) // len(self.wishes) if begun else 0
        draws = [begun[i : i + each] for i in range(0, len(begun), each)] if each else []
        trace, names = engine.local.trace, self.overrides.names if self.overrides is not None else {}
        outer = trace.overrides
        trace.overrides = Overrides(names) if names else outer
        try:
            with seeds.given(draws) if draws else contextlib.nullcontext():
                return self.function(*args, **kwargs)
        finally:
            trace.overrides = outer

    def made_aside(self, nodes: Sequence[Node]) -> tuple[ResultStructure, list[Aval]]:
        """Return the structure and Avals of the results on these nodes in an Aside; NotTensors for other results."""
        with seeds.noted() as wishes:
            result = self(nodes)
        result = nest.map_structure(lambda x: without_extents(x) if isinstance(x, SparseTensor) else x, result)
        made, structure = flatten_results(result, lambda item: item, fixed_strings=False)
        if not made or not all(item is TENSOR or item is None for item in structure.fixed):
            raise NotTensors
        self.wishes = wishes
        node = producer(made[0])
        shown = {} if node.op in (None, RAN) else dict(zip(node.op.attributes, node.attrs, strict=True))
        shown = {name: value for name, value in shown.items() if not dims(value)}
        if self.sample is None:
            self.sample, self.sampled, self.attributes = node, list(nodes), shown
        self.attributes = {name: value for name, value in self.attributes.items() if shown.get(name) == value}
        blocked, sliced = _blocked(nodes, made), _sliced(nodes, made)
        self.blocked = blocked if self.blocked is None else self.blocked & blocked
        self.sliced = sliced if self.sliced is None else self.sliced & sliced
        return structure, [item.aval for item in made]

    def gradient(self, op: Operation, *grads: Any) -> list[Any]:
        """Record a deferred gradient: at session time the call is made again and differentiated."""
        inputs, entry = op.entry.inputs, op.entry
        flows = [n.aval.inexact and op.needed[i] and i not in (self.blocked or ()) for i, n in enumerate(inputs)]
        wanted = [i for i, n in enumerate(inputs) if flows[i] and inputs.index(n) == i]  # a repeated input gets its gradient once
        given = [d for d in grads if d is not None]
        if not wanted or not given:
            return [None] * len(inputs)
        slices = [i for i in wanted if i in (self.sliced or ())]
        call = CallGradient(self, len(inputs), wanted, slices, [d is not None for d in grads])
        known = {i: inputs[i].aval for i in wanted}
        counts = {i: unknown() for i in slices}
        known |= {i: with_rows(inputs[i].aval, counts[i]) for i in slices}
        avals = [*known.values(), *[aval((counts[i],), np.dtype(np.int64)) for i in slices]]
        made = late(call, [*inputs, *[d.node for d in given]], avals)
        found: dict[int, Any] = dict(zip(wanted, map(handle, made), strict=False))
        for i, indices in zip(slices, map(handle, made[len(wanted) :]), strict=True):
            found[i] = IndexedSlices(found[i], indices, shape(handle(inputs[i])))
        return [found.get(i) for i in range(len(entry.inputs))]


class OpOfSomeRank:
    """An op on values of unknown rank. Its gradient is deferred like that of a call."""

    __slots__ = ("_attrs", "_op")
    blocked = sliced = None  # unknown

    def __init__(self, op: Op, attrs: Attributes) -> None:
        self._op, self._attrs = op, attrs

    def gradient(self, op: Operation, *grads: Any) -> list[Any]:
        """Record a deferred gradient."""
        return DeferredCall.gradient(self, op, *grads)  # type: ignore[arg-type]

    def __call__(self, nodes: Sequence[Node]) -> list[Tensor]:
        """Record the op on these nodes, whose ranks are known."""
        node = engine.record(self._op, tuple(nodes), self._attrs)
        return list(map(handle, engine.elements(node) if type(node.aval) is tuple else [node]))


def rule(entry: Entry) -> Callable[..., list[Any]] | None:
    """Return the gradient of an op on values of unknown rank, which is known when the graph runs; None for other ops."""
    op, attrs, *_ = entry.node.key
    if op is LATE or op.effect or not has_no_rank((entry.node.aval, *[n.aval for n in entry.inputs])):
        return None
    if isinstance(op, StructuredOp):
        if op.kind == LOOP:
            raise engine.NeedsValues(
                "A gradient through a loop over tensors of unknown rank is known to a graph only: take it outside of branches "
                "and functions."
            )
        return None
    return OpOfSomeRank(op, attrs).gradient


class CallGradient:
    """The gradient of a deferred call, as a deferred call of its inputs and the `given` cotangents of its results.

    `wanted` are the inputs that get gradients. Those in `slices` get the values of IndexedSlices; their indices follow all
    gradients.
    """

    __slots__ = ("_call", "_count", "_given", "_slices", "_wanted", "sample", "sampled")
    blocked = sliced = None  # unknown

    def __init__(self, call: Any, count: int, wanted: Sequence[int], slices: Sequence[int], given: Sequence[bool]) -> None:
        self._call, self._count, self._wanted, self._slices, self._given = call, count, wanted, slices, given
        self.sample: Node | None = None
        self.sampled: list[Node] = []

    def __call__(self, nodes: Sequence[Node]) -> list[Any]:
        """Return the gradients of the wanted inputs, zeros if there is none."""
        inputs, cotangents = nodes[: self._count], iter(nodes[self._count :])
        sources = [handle(inputs[i]) for i in self._wanted]
        with GradientTape() as tape:
            tape.watch(sources)
            results = [r for r in nest.flatten(self._call(inputs), expand_composites=True) if r is not None]
        pairs = [(y, handle(next(cotangents))) for y, given in zip(results, self._given, strict=True) if given]
        targets, flows = zip(*pairs, strict=True)
        found = tape.gradient(list(targets), sources, output_gradients=list(flows), unconnected_gradients="zero")
        rows = {i: _as_slices(d) for i, d in zip(self._wanted, found, strict=True) if i in self._slices}
        values = [rows[i].values if i in rows else dense(d) for i, d in zip(self._wanted, found, strict=True)]
        return [*values, *[cast(d.indices, "int64") for d in rows.values()]]

    def gradient(self, op: Operation, *grads: Any) -> list[Any]:
        """Record a deferred gradient of the gradient."""
        return DeferredCall.gradient(self, op, *grads)  # type: ignore[arg-type]


class NotTensors(Exception):
    """The results of a call are not a nest of tensors."""


class Bounds(NamedTuple):
    """A slice as a nest."""

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
    """Return the positions of inputs to which no gradient flows from `results`."""
    between = nodes_between(inputs, results)
    hidden = {n: 0 for n in between if n.inputs is None}  # they ran at once, and may depend on any input
    known = [n for n in between if n not in hidden]
    rules = [None if n.trace is None else n.trace.gradients.get(n.index) for n in known]
    entries = [Entry(n, n.inputs, rule) for n, rule in zip(known, rules, strict=True)]
    return {i for i, n in enumerate(inputs) if active_nodes(entries, {n: 0, **hidden}).keys().isdisjoint(results)}


def _sliced(inputs: Sequence[Node], results: Sequence[Node]) -> set[int]:
    """Return the positions of inputs of which only rows are used, so that their gradients are IndexedSlices."""
    users: dict[Node, list[bool]] = {}
    for node in nodes_between(inputs, results):
        named = dict(zip(node.op.attributes, node.attrs, strict=True)) if node.op.gives_slices else {}
        for place, source in enumerate(node.inputs or ()):
            users.setdefault(source, []).append(place == 0 and named.get("axis") == 0 and not named.get("batch_dims"))
    return {i for i, n in enumerate(inputs) if all(users.get(n, [False]))}


def _as_slices(gradient: Any) -> IndexedSlices:
    return gradient if isinstance(gradient, IndexedSlices) else IndexedSlices(gradient, range_(shape(gradient)[0]))


def _call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[DeferredCall, list[Node]]:
    """Return a DeferredCall and the nodes of its tensors."""
    flat, spec = nest.flatten_with_spec((tuple(map(_without_slices, args)), kwargs), nest.EXPANDED)
    flat = [tensor(item) if type(item) is Dim else item for item in flat]
    positions = [i for i, item in enumerate(flat) if isinstance(item, (Tensor, Stored))]
    return DeferredCall(function, flat, spec, positions), [tensor(flat[i]).node for i in positions]


def keeps_gradient(nodes: Iterable[Node]) -> bool:
    """Return whether a gradient through these nodes has to be deferred because of unknown shapes."""
    return any(n.op is LATE or n.op is GRADIENT or changes(n.aval) for n in nodes)


def passes(function: Callable[..., Any]) -> bool:
    """Return whether a function is never deferred itself, but the functions it calls may be."""
    module = function.__module__
    if f"{module}.{function.__name__}".startswith(ENTERING) or function.__name__ == "__init__":
        return True
    return not module.startswith((*FLOORS, *FUNCTIONS)) or hasattr(function, "makes_variables")


def put_off(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Defer a call if the graph must keep it; NotImplemented if it can be recorded now."""
    graph, op = engine.graph_around(), getattr(function, "op", None)
    if op is not None and op.function is function:  # an op is recorded as such
        return NotImplemented
    if graph is None or not graph.keeps:
        return NotImplemented
    flat = nest.flatten((args, kwargs), expand_composites=True)
    if not any(type(item) is Dim or (isinstance(item, Tensor) and changes(item.node.aval)) for item in flat):
        return NotImplemented
    updates = function.__name__.startswith(("assign", "scatter", "batch_scatter"))
    if updates and any(isinstance(item, Stored) for item in flat):
        naming.local.calls[-1].through = True
        return NotImplemented
    if _takes_function(function, flat):
        naming.local.calls[-1].through = True
        return NotImplemented
    if function.__name__ in AS_THEY_ARE and all(x.node.aval.ranked for x in flat if isinstance(x, Tensor)):
        return NotImplemented
    call, nodes = _call(function, args, kwargs)
    return _kept(graph, call, nodes, None if engine.current_graph() is None else lambda: function(*args, **kwargs))


def waits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Any:
    """Defer a call that needs concrete values to session time; re-raise `error` if it cannot be deferred."""
    graph = engine.graph_around()
    if (
        graph is None
        or not graph.keeps
        or not isinstance(error, engine.NeedsValues)
        or not function.__module__.startswith(FLOORS)
    ):
        raise error
    call, nodes = _call(function, args, kwargs)
    result = _kept(graph, call, nodes)
    if result is NotImplemented:
        raise error
    return result


def stated(
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    results: Sequence[tuple[Any, Any]],
    op: Op | None = None,
    attrs: Attributes = (),
) -> list[Tensor]:
    """Defer a call of tensors with results of these shapes and dtypes. An extent or shape that depends on values is None.

    `op` and `attrs` are shown as those of the graph's operation.
    """
    call, nodes = _call(function, tuple(inputs), {})
    avals = [
        unranked(dtype) if shape is None else aval([unknown() if n is None else n for n in shape], dtype.numpy)
        for shape, dtype in [(shape, as_dtype(dtype)) for shape, dtype in results]
    ]
    if op is not None:
        call.sample, call.sampled = (
            Node((op, attrs), tuple(nodes), op.result(tuple([n.aval for n in nodes]), attrs), None, 0, None, 0),
            nodes,
        )
    call.structure = ResultStructure(nest.flatten_with_spec([0] * len(avals))[1], [TENSOR] * len(avals))
    made: list[Tensor] = _recorded(engine.graph_around(), call, nodes, avals)
    return made


def _kept(graph: Graph, call: DeferredCall, nodes: Sequence[Node], make: Callable[[], Any] | None = None) -> Any:
    """Record a deferred call in the graph, or in a branch or loop in it.

    If its ops are the same for all extents, `make` records these. In a branch or loop it is None: gradients are recorded there,
    too, and their functions may need extents as numbers.
    """
    try:
        call.structure, avals, settled = looked_at(graph, nodes, call.made_aside)
    except (NotTensors, NotImplementedError, NeedsEager):
        naming.local.calls[-1].through = True
        return NotImplemented
    if settled and make is not None:
        with following(Path(())):
            return make()
    return _recorded(graph, call, nodes, avals)


def inferred(graph: Graph, op: Op, inputs: tuple[Node, ...], attrs: Attributes) -> Any:
    """Return the Aval of an op's result, a tuple for several; None if its inputs have shapes."""
    if isinstance(graph, Aside):
        return graph.of_some_rank(op, inputs, attrs) if op.effect else None
    if op in (LATE, GRADIENT) or op.effect or not any(changes(n.aval) for n in inputs):
        return None
    try:
        if isinstance(op, StructuredOp):
            return _of_bodies(graph, op, inputs, attrs) if has_no_rank(tuple([n.aval for n in inputs])) else None
        symbols = symbols_in(attrs) | symbols_of(inputs)
        many, avals, _ = general(graph, inputs, functools.partial(_result, op, inputs, attrs), symbols)
    except (NeedsEager, NotImplementedError):
        return None
    return tuple(avals) if many else avals[0]


def _result(op: Op, inputs: Sequence[Node], attrs: Attributes, shapes: Shapes) -> tuple[bool, list[Aval]]:
    """Return whether an op has several results, and their Avals, for these shapes of inputs of unknown rank."""
    avals = tuple([aval(shapes[n], n.aval.dtype) if n in shapes else n.aval for n in inputs])
    _, result = op.resolved(avals, attrs)
    return type(result) is tuple, list(result) if type(result) is tuple else [result]


def _of_bodies(graph: Graph, op: StructuredOp, inputs: tuple[Node, ...], attrs: Attributes) -> tuple[Any, ...]:
    """Return the Avals of the results of an op that holds Programs, which are recorded again for each rank.

    The ranks of branches may differ. If a branch or loop inside of a Program has no single shape, only the results that are
    loop variables of known rank have one.
    """

    def attempt(given: list[Node]) -> tuple[None, list[Aval]]:
        replay = Replay(graph, {}, {}, RunScope(lambda variable: variable.aval))
        if op.kind == BRANCH:
            branches = op.programs(replay.with_programs(op, attrs, given))
            return None, list(map(common, zip(*[p.results for p in branches], strict=True)))
        return None, [n.aval for n in engine.elements(replay.record(op, attrs, [n.aval for n in inputs], given))]

    try:
        return tuple(looked_at(graph, inputs, attempt).avals)
    except NeedsEager:
        results = op.result(tuple([n.aval for n in inputs]), attrs)
        kept = {
            body.gives[output]
            for body in op.bodies(attrs)
            for parameter, output in body.carried.items()
            if output in body.gives and inputs[body.takes[parameter]].aval.ranked
        }
        return tuple([a if i in kept else unranked(a.type) for i, a in enumerate(results)])


def _takes_function(function: Callable[..., Any], flat: Sequence[Any]) -> bool:
    return any(map(_is_function, flat[1:] if function.__name__ == "__call__" else flat))


def _is_function(item: Any) -> bool:
    return callable(item) and not isinstance(item, (Tensor, Stored, type))


def _draws(call: DeferredCall) -> list[Node]:
    """Begin the random draws of a call; return their nodes, the same number for each draw."""
    return [x.node for wish in call.wishes for x in seeds.draw_later(*wish)]


def _recorded(graph: Graph, call: DeferredCall, nodes: Sequence[Node], avals: Sequence[Aval]) -> Any:
    draws = _draws(call)
    graph.shown = None if call.sample is None else op_of_sample(call.sample)
    try:
        results = late(call, [*nodes, *draws], avals)
    finally:
        graph.shown = None
    return call.structure.pack(results)
