"""Recording part of a graph again with true shapes, into a Program that can run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gradtape._src.autodiff.backward import Entry, active_nodes, reverse, summed
from gradtape._src.autodiff.tape import GradientTape
from gradtape._src.control.bounded_scan import SCAN, Scan
from gradtape._src.control.checkpointed_while import for_other_shapes
from gradtape._src.control.scope import Scope
from gradtape._src.core.base.ambient import setting
from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.declarations.define import check
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.engine.constant_folding import MOST
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import ELEMENT, Node, Program, leaf
from gradtape._src.core.programs.structured import HeldProgram, StructuredOp
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.tensor import Tensor, handle, to_numpy
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.tensors.variable_ops import READ
from gradtape._src.core.values.aval import Aval, has_no_rank, row_of
from gradtape._src.core.values.dim import Atom, Dim, UnknownExtent, dims
from gradtape._src.ops.array.creation import ones_like, zeros_of
from gradtape._src.ops.array.joining import _split_v, split_sizes
from gradtape._src.ops.array.shape import identity, zeros
from gradtape._src.ops.random import seeds
from gradtape._src.ops.shapes import spoken
from gradtape._src.v1.graphs.extents import NeedsFeed, structure_of
from gradtape._src.v1.graphs.interpreter import NeedsEager, NodeRows, Outputs, in_python, is_open, of_one_shape
from gradtape._src.v1.graphs.kinds import (
    BEGINNINGS,
    BY_VALUES,
    CONST,
    GRADIENT,
    HANDLE,
    INITIALIZED,
    LATE,
    NOOP,
    PLACEHOLDER,
    Request,
)

if TYPE_CHECKING:
    from gradtape._src.v1.graphs.graph import Graph


class RunScope(Scope):
    """The variables of a run. Those it reads are parameters, with their Avals in the session."""

    def __init__(self, avals: Callable[[Variable], Aval]) -> None:
        super().__init__()
        self._avals, self.fixes_strings = avals, False

    def guarded(self, op: Op, nodes: tuple[Node, ...], attrs: Attributes) -> Op:
        """Return the op to record for one that checks its values when it runs; all ops of a run are checked."""
        made = super().guarded(op, nodes, attrs)
        return made.guarded(always=True) if made.guards else made

    def read(self, variable: Variable) -> Node:
        """Return the node of the variable's present value, at first a parameter."""
        node = self.now.get(id(variable))
        if node is None:
            node = self.now[id(variable)] = self.before(variable)
        return node

    def before(self, variable: Variable) -> Node:
        """Return the node of the variable's value at the start of the run."""
        found = self.variables.get(id(variable))
        if found is None:
            found = self.variables[id(variable)] = (variable, leaf(self._avals(variable), None))
        return found[1]

    def hold(self, variable: Variable, node: Node) -> None:
        """Note an assignment; the variable may have been uninitialized."""
        self.now[id(variable)] = self.after[id(variable)] = node
        self.written[id(variable)] = variable


class ValueScope(RunScope):
    """The variables of a run that is not compiled, with their values."""

    def __init__(self, avals: Callable[[Variable], Aval], values: Callable[[Variable], Any]) -> None:
        super().__init__(avals)
        self._values = values

    def before(self, variable: Variable) -> Node:
        """Return a leaf with the variable's value at the start of the run."""
        return leaf(self._avals(variable), self._values(variable))


def needed_nodes(graph: Graph, wanted: Iterable[Node], fed: Iterable[Node] = (), shapes: bool = True) -> list[Node]:
    """Return the nodes of `graph` that `wanted` depends on, in the order of recording; `fed` nodes cut the search.

    `shapes` includes the nodes that only determine unknown extents.
    """
    cut = set(fed)
    found: set[Node] = set()
    stack = [node for node in wanted if node not in cut]
    while stack:
        node = stack.pop()
        if node in found or node.trace is not graph.trace:
            continue
        found.add(node)
        sources = [*node.inputs, *graph.control_inputs_of(node), *graph.attached.get(node, ())]
        if shapes and node.op not in BEGINNINGS and (extents := dims(node.key[1])):
            sources += graph.extents.sources_of(extents)
        stack += [n for n in sources if n not in cut and n not in found]
    return sorted(found, key=lambda node: node.index)


class Replay:
    """Records nodes of a graph again into the thread's present trace.

    `feeds` maps fed nodes to parameters; `fed` has the values of feeds that determine shapes.
    """

    def __init__(
        self,
        graph: Graph,
        feeds: dict[Node, Node],
        fed: dict[Node, np.ndarray],
        scope: RunScope,
        initialized: Callable[[Variable], bool] = bool,
        stream: Callable[[Any], Any] = lambda stream: stream,
        has_value: Callable[[Variable], bool] = bool,
        tape: GradientTape | None = None,
    ) -> None:
        self.graph, self.fed, self.scope, self._initialized = graph, fed, scope, initialized
        self._stream, self._has_value = stream, has_value
        self._tape = tape  # the tape of ops that run at once
        self.values: dict[Node, Any] = dict(feeds)
        self._bound: dict[Atom, int] = {}  # extents within a branch, loop or function
        self._parameters = [n for n in feeds.values() if n.value is None]
        self.reads: dict[Node, list[Node]] = {}
        self._streams = dict(graph.draws)

    def run(self, wanted: Iterable[Node]) -> None:
        """Record the nodes that `wanted` depends on; those that only determine extents check nothing, as they do not run."""
        wanted, done = list(wanted), list(self.values)
        run, needed = set(needed_nodes(self.graph, wanted, done, shapes=False)), needed_nodes(self.graph, wanted, done)
        for node in needed:
            if node not in self.values:
                try:
                    with setting(checking=node in run):
                        self._step(node)
                except LookupError:
                    raise
                except Exception as error:
                    self._name(error, node)
                    raise
        for node in needed:  # a later step may run these
            if node not in run:
                self.values.pop(node, None)

    def _name(self, error: Exception, node: Node) -> None:
        """Add the name of the graph's op to an error."""
        message = getattr(error, "message", None)
        if message is not None and "{{node" not in message:
            error.message = f"{message}\n\t [[{{{{node {self.graph.operation_of(node).name}}}}}]]"  # type: ignore[attr-defined]

    def value(self, node: Node) -> Node:
        """Return the new node for a node of the graph."""
        found: Node | None = self.values.get(node)
        if found is not None:
            return found
        if node.op is HANDLE:
            return self.scope.read(self.graph.variables[node])
        if node.trace is None and node.value is None:
            stream = self._streams.get(node)
            if stream is None:
                raise invalid("A tensor of a function that was traced is used in a graph. Return it from the function.")
            stream = self._stream(stream)
            if dims(stream.blocks):
                stream = stream.shared(self._known(stream.blocks))
            found = self.values[node] = seeds.again(stream).node
            return found
        return node

    def fetched(self, node: Node) -> Node:
        """Return the result of a fetch; for an initialized variable its value at the start of the run."""
        if node.op is HANDLE and node not in self.values and self._has_value(self.graph.variables[node]):
            return self.scope.before(self.graph.variables[node])
        return self.value(node)

    def _step(self, node: Node) -> None:
        op, graph = node.op, self.graph
        if op is NOOP or op is HANDLE:
            return
        if op is PLACEHOLDER:
            self._placeholder(node)
        if op is CONST:
            self.values[node] = engine.constant(node.attrs[0].array)
            return
        if op is INITIALIZED:
            known = self._initialized(graph.variables[node.inputs[0]])
            self.values[node] = engine.constant(np.array(known))
            return
        if op is GRADIENT:
            self._differentiate(node)
            return
        before = [source.aval for source in node.inputs]
        inputs = [self.value(source) for source in node.inputs]
        attrs = node.key[1]
        new = self.record(op, attrs, before, inputs, node)
        self.values[node] = new
        if op is READ:
            self.reads.setdefault(node.inputs[0], []).append(new)
        variable = graph.assignments.get(node)
        if variable is not None:
            self.scope.hold(variable, new)

    def _placeholder(self, node: Node) -> NoReturn:
        shape = _plain(node.aval)
        name = self.graph.operation_of(node).name
        raise InvalidArgumentError(
            None,
            None,
            f"You must feed a value for placeholder tensor '{name}' with dtype {spoken(node.aval.type.name)} and shape {shape}: "
            "give it in feed_dict.",
        )

    def record(self, op: Op, attrs: Attributes, before: Sequence[Any], inputs: list[Any], like: Node | None = None) -> Any:
        """Record an op on `inputs`, which had the Avals `before` in the graph; several nodes are returned as `Outputs`."""
        if op is ELEMENT and isinstance(inputs[0], Outputs):
            return inputs[0][attrs[0]]
        eager = engine.local.trace.scope is None
        if any(isinstance(given, NodeRows) for given in inputs):
            return in_python(self, op, attrs, inputs)
        if op is LATE:
            return self._call(op, attrs, inputs)
        recorded = attrs
        try:
            attrs = self._with_true_shapes(op, attrs, before, inputs)
        except NeedsEager:
            if not eager:
                raise
            return in_python(self, op, self._decoded(op, recorded, inputs), inputs)
        if op in BY_VALUES:
            return self._run_now(op, attrs, inputs)
        if op.refuses is not None:
            op = check(op, tuple(inputs), attrs)
        if op.effect and eager:
            new = self._happened(op, tuple(inputs), attrs)
        else:
            new = engine.record(op, tuple(inputs), attrs)
        if has_no_rank(new.aval) and not eager:
            raise NeedsEager
        if like is not None:
            new.code, new.offset = like.code, like.offset
        return new

    def _with_true_shapes(self, op: Op, attrs: Attributes, before: Sequence[Any], inputs: list[Node]) -> Attributes:
        """Return the attributes of an op for true shapes; `before` are the inputs' Avals in the graph.

        NeedsEager if shapes change within its Programs.
        """
        after = [source.aval for source in inputs]
        if isinstance(op, StructuredOp):
            attrs = self.with_programs(op, attrs, inputs)
            if not of_one_shape(op, attrs, after):
                raise NeedsEager
        elif dims(attrs) or any(a is not b for a, b in zip(before, after, strict=True)):
            attrs = self._decoded(op, attrs, inputs)
        return attrs

    def _call(self, op: Op, attrs: Attributes, inputs: list[Node]) -> Outputs:
        """Make a deferred call."""
        call = attrs[0].array
        if engine.local.trace.scope is not None:
            try:
                return Outputs(_nodes(call(inputs)))
            except engine.NeedsValues as error:
                raise self._needs(error) from None
            except (ValueError, TypeError) as error:  # session-time errors of ops are InvalidArgumentErrors
                raise InvalidArgumentError(None, None, str(error)) from None
        return Outputs(_nodes(call(inputs)))

    def _needs(self, error: engine.NeedsValues) -> Exception:
        """Return the error for a call that needs a value: NeedsFeed if feeds determine it, else NeedsEager."""
        waiting = [error.node] if getattr(error, "node", None) is not None else []
        leaves: list[Node] = []
        while waiting:
            node = waiting.pop()
            if node.op is None:
                leaves.append(node)
            elif not node.op.of_shapes:
                waiting += [n for n in node.inputs if n.value is None]
        parameters = set(self._parameters)
        if leaves and all(n in parameters and n.aval.dtype.kind in "iu" and n.aval.size <= MOST for n in leaves):
            return NeedsFeed(leaves[0])
        return NeedsEager()

    def _run_now(self, op: Op, attrs: Attributes, inputs: list[Node]) -> Any:
        """Run an op whose result's shape depends on values."""
        if engine.local.trace.scope is not None:
            raise NeedsEager
        result = op.run([to_numpy(n) for n in inputs], attrs)
        many = isinstance(result, tuple)
        value = tuple([np.asarray(r) for r in result]) if many else np.asarray(result)
        new = engine.record_ran(op, tuple(inputs), attrs, value)
        return Outputs(engine.elements(new)) if many else new

    def _happened(self, op: Op, inputs: tuple[Node, ...], attrs: Attributes) -> Node:
        result = execution.run_outside(op, attrs, [engine.value(n) for n in inputs])
        return engine.record_ran(op, inputs, attrs, result)

    def with_programs(self, op: StructuredOp, attrs: Attributes, inputs: Sequence[Node]) -> Attributes:
        """Return the attributes of an op with its Programs recorded for these inputs."""
        held, after = op.bodies(attrs), [source.aval for source in inputs]
        made = [self._program(body.program, _parameters(body, after), [inputs[i] for i in body.takes]) for body in held]
        attrs = op.with_programs(attrs, made)
        if any(body.program is not new for body, new in zip(held, made, strict=True)):
            attrs = for_other_shapes(op, attrs, after)
        return self._decoded(op, attrs, inputs)

    def _decoded(self, op: Op, attrs: Attributes, inputs: Sequence[Node]) -> Attributes:
        """Return attributes with numbers in place of unknown extents."""
        after = [source.aval for source in inputs]
        if op is SCAN and dims(Scan(*attrs).length) and (rows := Scan(*attrs).rows(after)) is not None:
            attrs = Scan(*attrs)._replace(length=rows)
        if op.plain is _split_v.op:
            sizes, axis = self._known(attrs)
            return split_sizes(sizes, after[0].shape[axis]), axis
        known: Attributes = self._known(attrs)
        return known

    def _known(self, value: Any) -> Any:
        """Return an attribute's value with numbers in place of unknown extents."""
        if type(value) is tuple:
            return tuple(map(self._known, value)) if dims(value) else value
        return value.substituted({symbol: self._extent(symbol) for symbol in value.symbols}) if type(value) is Dim else value

    def _extent(self, symbol: Atom) -> int:
        if (bound := self._bound.get(symbol)) is not None:
            return bound
        if (source := self.graph.extents.source(symbol)) is None:
            raise UnknownExtent(
                None,
                None,
                "A shape depends on values that are not known before the graph runs. Compute it from a tensor's shape.",
            )
        node, place = source
        if place >= 0:
            extent: int = self.value(node).aval.shape[place]
            return extent
        found = structure_of(self.value(node), self.fed)
        assert found is not None
        return int(found[0].ravel()[place])

    def _bind(self, before: Any, after: Any) -> None:
        """Note the values of symbols in the Aval of a value."""
        if type(before) is not tuple and before.open and type(after) is not tuple and before.ndim == after.ndim:
            for dim, extent in zip(before.shape, after.shape, strict=True):
                if type(dim) is Dim and (symbol := dim.symbol) is not None:
                    self._bound[symbol] = extent

    # -- Programs among the attributes: branches, loops, functions

    def _program(self, program: Program, parameters: Sequence[Any], given: Sequence[Node]) -> Program:
        """Return `program` recorded for parameters of other Avals; `given` are their values before the first trip."""
        count = len(program.parameters) - len(program.constants)
        same = all(a is b for a, b in zip(program.parameters[:count], parameters, strict=True))
        if same and not is_open(program):
            return program
        leaves = [leaf(a, None) for a in parameters]
        with tracing.inner(self.scope) as inner, seeds.standing_for(dict(zip(leaves, given, strict=True))):
            return execution.intern(tracing.close(inner, self.inlined(program, leaves), leaves, effects=True))

    def inlined(self, program: Program, inputs: Sequence[Node]) -> list[Node]:
        """Record the ops of `program` one by one, on nodes whose Avals may differ from its parameters."""
        constants = [
            engine.constant(c) if c.ndim or c.dtype.kind not in "iu" else engine.number(int(c), c.dtype)
            for c in program.constants
        ]
        given = [*inputs, *constants]
        outer, self._bound = self._bound, dict(self._bound)
        for parameter, node in zip(program.parameters, given, strict=True):
            self._bind(parameter, node.aval)
        nodes: list[Any] = []
        for index, (op, attrs, *references) in enumerate(program.keys):
            found = [nodes[r] if r >= 0 else given[-1 - r] for r in references]
            nodes.append(self.record(op, attrs, [program.aval_of(r) for r in references], found))
            if isinstance(nodes[-1], Node):
                self._bind(program.avals[index], nodes[-1].aval)
                if program.lines:
                    nodes[-1].code, nodes[-1].offset = program.lines[index]
        self._bound = outer
        return [nodes[r] if r >= 0 else given[-1 - r] for r in program.outputs]

    # -- gradients

    def _differentiate(self, node: Node) -> None:
        request: Request = node.attrs[0]
        results = self.gradients(request)
        for position, (x, result) in enumerate(zip(request.xs, results, strict=True)):
            if result is None and request.layout[position] is not None:  # the op did not run
                like = self._sources(x)[0].aval
                results[position] = zeros(like.shape, like.type)
        self.values[node] = Outputs(request.flat(results))

    def gradients(self, request: Request) -> list[Any]:
        """Return the gradients of a request for each x: a Tensor, IndexedSlices, or None."""
        trace = engine.local.trace
        if trace.scope is None and self._tape is not None:
            entries: Sequence[Entry] = self._tape._entries()[0]
        else:
            entries = [Entry(node, node.inputs, trace.gradients.get(index)) for index, node in enumerate(trace.nodes)]
        ys = [handle(self.value(y)) for y in request.ys]
        given = [None if d is None else handle(self.value(d)) for d in request.given]
        stops = [n for stop in request.stops for n in self._sources(stop)]
        return walked(entries, ys, given, [*map(self._sources, request.xs)], stops, request.zero)

    def _sources(self, node: Node) -> list[Node]:
        """Return the nodes of a gradient's source; for a variable, all its reads."""
        if node.op is HANDLE and node not in self.values:
            found = self.reads.get(node, [])
            return found or [self.scope.read(self.graph.variables[node])]
        if node not in self.values and node.trace is self.graph.trace:
            return []
        return [self.value(node)]


def _nodes(results: Any) -> list[Node]:
    return [item.node for item in nest.flatten(results, expand_composites=True) if item is not None]


def walked(
    entries: Sequence[Entry],
    ys: Sequence[Tensor],
    given: Sequence[Tensor | None],
    sources: Sequence[Sequence[Node]],
    stops: Sequence[Node],
    zero: bool,
) -> list[Any]:
    """Return the reverse pass over `entries`.

    A source is a list of nodes that represent it; the first one has its shape and dtype.
    """
    held = set(stops)
    entries = [entry for entry in entries if entry.node not in held]
    position = {entry.node: at for at, entry in enumerate(entries)}
    active = active_nodes(entries, {x: position.get(x, 0) for each in sources for x in each})
    cotangents: dict[Node, Any] = {}
    for y, d in zip(ys, given, strict=True):
        if y.node in active:
            flow = ones_like(y) if d is None else identity(d)  # rules look through a broadcast
            cotangents[y.node] = summed([cotangents[y.node], flow]) if y.node in cotangents else flow
    total = reverse(entries, active, cotangents) if cotangents else {}
    found = [summed(parts) if (parts := [total[x] for x in each if x in total]) else None for each in sources]
    return [zeros_of(each[0]) if zero and d is None else d for each, d in zip(sources, found, strict=True)]


def nodes_between(inputs: Sequence[Node], made: Sequence[Node]) -> list[Node]:
    """Return the nodes on which `made` depends, back to `inputs`, in order."""
    found: dict[Node, None] = {}
    stack = [(node, False) for node in made]
    while stack:
        node, done = stack.pop()
        if done:
            found[node] = None
        elif node.op is not None and node not in inputs and node not in found:
            stack += [(node, True), *[(source, False) for source in node.inputs or ()]]
    return list(found)


def _plain(of: Aval) -> str:
    return f"[{','.join(map(str, of.shape))}]" if of.ranked else "<unknown>"


def _parameters(body: HeldProgram, avals: Sequence[Any]) -> list[Any]:
    taken = [avals[i] for i in body.takes]
    return [row_of(a) if p in body.rows else a for p, a in enumerate(taken)]
