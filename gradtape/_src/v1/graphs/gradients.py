"""`gradients` and `hessians`: symbolic derivatives in a graph or in a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtape._src.autodiff import eager_record
from gradtape._src.autodiff.backward import Entry
from gradtape._src.autodiff.options import AggregationMethod, UnconnectedGradients
from gradtape._src.autodiff.sources import like, no_tensor, values_of
from gradtape._src.core.base import hooks
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.program import ELEMENT, Node, Trace
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import is_composed, is_tensor, tensor, variable_of
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, handle
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.tensors.variable_ops import READ
from gradtape._src.core.values.aval import changes, with_rows
from gradtape._src.core.values.dim import is_unknown, unknown
from gradtape._src.ops.array.extents import shape
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.shape import reshape
from gradtape._src.v1.graphs.aside import Sketch, sketched
from gradtape._src.v1.graphs.graph import Graph
from gradtape._src.v1.graphs.kinds import GRADIENT, Request
from gradtape._src.v1.graphs.replay import needed_nodes, walked

AGGREGATIONS = (
    AggregationMethod.ADD_N,
    AggregationMethod.EXPERIMENTAL_TREE,
    AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
)


def listed(value: Any) -> list[Any]:
    """Return a list of an argument that is a list, a single value or None."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


@public
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Return the derivatives of the sum of `ys` with respect to each of `xs`: a list of Tensors, IndexedSlices, or None.

    Works in a graph, and in a `tf.function` for its own tensors. `grad_ys` are the cotangents of `ys` (None: ones).
    `stop_gradients` are tensors treated as constants. `gate_gradients` and `aggregation_method` have no effect. In eager code it
    is a RuntimeError: use `tf.GradientTape`.

    >>> slope = tf.function(lambda x: tf.gradients(x**3, x)[0])
    >>> print(slope(tf.constant(2.0)).numpy())
    12.0
    """
    if not eager_record.recording():
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    if aggregation_method not in (None, *AGGREGATIONS):
        raise ValueError(f"Invalid `aggregation_method` specified {aggregation_method!r}: give one of tf.AggregationMethod.")
    zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    targets = [tensor(_part(y)) for y in listed(ys)]
    parts, stops = list(map(_part, listed(xs))), [_source(_part(x)) for x in listed(stop_gradients)]
    given = listed(grad_ys) if grad_ys is not None else [None] * len(targets)
    if len(given) != len(targets):
        raise ValueError(f"Length mismatch. Passed {len(given)} grad_ys for {len(targets)} ys: give one for each, or None.")
    flows = [_flow(y, d) for y, d in zip(targets, given, strict=True)]
    sources = list(map(_source, parts))
    graph = engine.current_graph()
    if engine.local.trace.scope is None:
        read = [eager_record.reads(x) if isinstance(x, Variable) else [_source(x)] for x in parts]
        results = walked(eager_record.entries(), targets, flows, read, stops, zero)
    elif graph is None:
        results = _in_function(targets, flows, sources, stops, zero)
    else:
        results = in_graph(graph, targets, flows, sources, stops, zero)
    hooks.gradients.graphed(targets, parts, results)
    return list(map(like, listed(xs), results))


def _flow(y: Tensor, given: Any) -> Tensor | None:
    if given is None:
        if y.dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors ({y}) must set grad_ys (y.dtype = {y.dtype!r}).")
        return None
    dy = tensor(given := values_of(given), None if isinstance(given, (Tensor, Stored)) else y.dtype)
    if dy.dtype != y.dtype:
        raise TypeError(
            f"Gradient type {dy.dtype.name} generated for {y.dtype.name}: grad_ys must have the dtypes of ys. Use tf.cast."
        )
    known = [[1 if is_unknown(e) else e for e in (x.node.aval.shape if x.node.aval.ranked else ())] for x in (y, dy)]
    pairs = zip(reversed(known[0]), reversed(known[1]), strict=False)
    if engine.local.trace.scope is not None and any(m != n and m != 1 and n != 1 for m, n in pairs):
        raise ValueError(
            f"Dimensions must be equal, but grad_ys has shape {dy.shape} for one of ys of shape {y.shape}: it must have the "
            "shapes of ys, or broadcast to them."
        )
    return dy


def _part(x: Any) -> Any:
    """Return the part of an argument that has gradients: the variable, or the values of a composite tensor."""
    found = x.values if isinstance(x, IndexedSlices) else variable_of(values_of(x))
    if is_composed(found):
        raise no_tensor("source or target", found)
    return found


def _source(x: Any) -> Node:
    if isinstance(x, (list, tuple)) and any(map(is_tensor, nest.flatten(x))):  # packing would create a new tensor
        raise no_tensor("source", x)
    return x.held() if isinstance(x, Variable) else tensor(x).node


def in_graph(
    graph: Graph,
    ys: Sequence[Tensor],
    given: Sequence[Tensor | None],
    xs: Sequence[Node],
    stops: Sequence[Node],
    zero: bool = False,
) -> list[Any]:
    """Record one op for all gradients. A Sketch of the graph shows which of them exist."""
    request = Request([y.node for y in ys], [None if d is None else d.node for d in given], xs, stops, zero)
    avals: list[Any] = []
    for x, found in zip(xs, _looked_into(graph, request), strict=True):
        if found is None:
            request.layout.append(None)
        elif isinstance(found, IndexedSlices):
            request.layout.append((len(avals), len(avals) + 1))
            count = unknown()
            avals += [with_rows(x.aval, count), with_rows(found.indices.node.aval, count)]
        else:
            request.layout.append(len(avals))
            avals.append(x.aval)
    request.avals = tuple(avals)
    if not avals:
        return [None] * len(xs)
    inputs = [*request.ys, *[d for d in request.given if d is not None], *xs]
    node = engine.record(GRADIENT, tuple(inputs), (request,))
    nodes = engine.elements(node)
    outputs = [EagerTensor(n) for n in nodes]
    results: list[Any] = []
    for x, layout in zip(xs, request.layout, strict=True):
        if isinstance(layout, tuple):
            results.append(IndexedSlices(outputs[layout[0]], outputs[layout[1]], shape(handle(x))))
        else:
            results.append(None if layout is None else outputs[layout])
    return results


def _looked_into(graph: Graph, request: Request) -> list[Any]:
    """Return the gradients in a Sketch of the graph."""
    wanted = [*request.ys, *[d for d in request.given if d is not None], *request.xs, *request.stops]

    def attempt(sketch: Sketch) -> list[Any]:
        for node in wanted:
            sketch.value(node)
        return sketch.gradients(request)

    try:
        return sketched(graph, attempt)
    except LookupError as error:
        raise _named(graph, wanted, error) from None


def _named(graph: Graph, wanted: Sequence[Node], error: LookupError) -> LookupError:
    """Return the error for an op without a gradient, with the op's name."""
    type_ = str(error.args[0]).rpartition(": ")[2]
    for node in reversed(needed_nodes(graph, wanted)):
        if node.op.type == type_:
            name = graph.operation_of(node).name
            return LookupError(
                f"No gradient defined for operation '{name}' (op type: {type_}). Give it one with tf.RegisterGradient, or put "
                "tf.stop_gradient before it."
            )
    return error


def _in_function(ys: list[Tensor], given: list[Tensor | None], xs: list[Node], stops: list[Node], zero: bool) -> list[Any]:
    """Record the reverse pass over the trace so far, in the function itself."""
    traces = [engine.local.trace]
    while traces[0].parent is not None and traces[0].parent.scope is not None:
        traces.insert(0, traces[0].parent)  # captures of a branch or loop are computed in outer traces
    entries, written_out = _written_out(traces, [y.node for y in ys])
    sources = [[written_out.get(n, n) for n in _everywhere(x)] for x in xs]
    targets = [handle(written_out.get(y.node, y.node)) for y in ys]
    return walked(entries, targets, given, sources, [written_out.get(n, n) for n in stops], zero)


def _written_out(traces: Sequence[Trace], wanted: list[Node]) -> tuple[list[Entry], dict[Node, Node]]:
    """Return the entries of `traces`, with the graph's deferred gradients replaced by ops recorded in the function.

    A deferred gradient depends on more than the inputs of its op. The second result maps its outputs to their replacements.
    """
    recorded = [(n, t.gradients.get(i)) for t in traces for i, n in enumerate(t.nodes)]
    needed = _depended_on(wanted) if any(n.op is GRADIENT for n, _ in recorded) else set()
    entries: list[Entry] = []
    written_out: dict[Node, Node] = {}
    for node, rule in recorded:
        inputs = tuple([written_out.get(i, i) for i in node.inputs])
        if node.op is not GRADIENT:
            entries.append(Entry(node, inputs, rule))
        elif node in needed:
            trace = engine.local.trace
            first = len(trace.nodes)
            request: Request = node.attrs[0]
            ys, xs, stops = [[written_out.get(n, n) for n in part] for part in (request.ys, request.xs, request.stops)]
            flows = [None if d is None else handle(written_out.get(d, d)) for d in request.given]
            found = walked(entries, list(map(handle, ys)), flows, [_everywhere(x) for x in xs], stops, zero=True)
            entries += [Entry(n, n.inputs, trace.gradients.get(first + i)) for i, n in enumerate(trace.nodes[first:])]
            results = request.flat(found)
            written_out |= {n: results[n.attrs[0]] for n, _ in recorded if n.op is ELEMENT and n.inputs[0] is node}
    return entries, written_out


def _depended_on(wanted: list[Node]) -> set[Node]:
    """Return the nodes from which `wanted` are computed, in all traces."""
    found, waiting = set(wanted), list(wanted)
    while waiting:
        new = [n for n in waiting.pop().inputs or () if n not in found]
        found.update(new)
        waiting += new
    return found


def _everywhere(source: Node) -> list[Node]:
    """Return the nodes of a source in a branch or loop; for a variable, also its reads in the outer graph."""
    graph, scope = engine.graph_around(), engine.local.trace.scope
    if graph is None or scope is graph:
        return [source]
    held = [v for v, origin in getattr(scope, "variables", {}).values() if origin is source]
    return [source, *[n for v in held for n in graph.trace.nodes if n.op is READ and n.inputs[0] is v._tensor.node]]


@public
def hessians(ys: Any, xs: Any, gate_gradients: bool = False, aggregation_method: Any = None, name: str = "hessians") -> list[Any]:
    """Return the second derivatives of the sum of `ys` with respect to each of `xs`, of shape x.shape + x.shape.

    >>> curvature = tf.function(lambda x: tf.hessians(tf.reduce_sum(x**3), x)[0])
    >>> print(curvature(tf.constant([1.0, 2.0])).numpy())
    [[ 6.  0.]
     [ 0. 12.]]
    """
    sources = listed(xs)
    results = []
    if any(map(is_composed, sources)):
        raise TypeError(f"tf.hessians takes tensors and variables, received {sources!r}. Of a ragged tensor give flat_values.")
    for x, first in zip(sources, gradients(ys, sources), strict=True):
        if first is None:
            raise ValueError(f"ys do not depend on {x}: there is no second derivative of nothing.")
        if changes(first.node.aval):
            raise ValueError(
                f"The shape of {x} is not fully known, so nobody knows how many rows its Hessian has. Give its shape."
            )
        flat, extents = reshape(first, [-1]), first.node.aval.shape
        rows = [gradients(flat[i], [x], unconnected_gradients="zero")[0] for i in range(flat.node.aval.size)]
        results.append(reshape(stack(rows), (*extents, *extents)))
    return results
