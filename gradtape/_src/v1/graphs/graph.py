"""`Graph`: a record of ops that a `Session` runs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np

from gradtape._src.autodiff.overrides import gradient_override_map
from gradtape._src.core.base import ambient, naming
from gradtape._src.core.base.ambient import declare, field
from gradtape._src.core.base.errors import DtypeInFunctionError, InvalidArgumentError, InvalidInFunctionError
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import constant_folding, engine
from gradtape._src.core.engine.constant_folding import COUNT
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import ELEMENT, Node, Trace
from gradtape._src.core.tensors import nest, scopes
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import UPDATES, EagerTensor, Stored, Tensor, graph_of, handle
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.tensors.variable_ops import ASSIGN, READ
from gradtape._src.core.values.aval import aval, unranked
from gradtape._src.core.values.dim import Dim, exploring, unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.ops.random import seeds
from gradtape._src.v1.graphs.extents import Extents, structure_of
from gradtape._src.v1.graphs.kinds import BY_VALUES, CONST, HANDLE, INITIALIZED, NOOP, PLACEHOLDER, IdentityAttr
from gradtape._src.v1.graphs.names import NameScope, Operations
from gradtape._src.v1.graphs.operation import Operation
from gradtape._src.v1.graphs.overrides import GraphOverrides

OF_VARIABLES = ("variables", "local_variables", "trainable_variables")  # collections that functions share with their graph


class _Fields:
    """The sessions entered in this thread, and the context of the graph entered by `disable_eager_execution`."""

    sessions: list[Any] = field(list, per_replica=True)
    entered: Any = field(None, per_replica=False)


local = declare(_Fields)


class Graph(Operations):
    """A graph of operations. `with graph.as_default():` records into it; a `Session` runs parts of it.

    >>> graph = tf.compat.v1.Graph()
    >>> with graph.as_default():
    ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
    ...     y = x * x
    >>> tf.compat.v1.Session(graph=graph).run(y, {x: 3.0})
    np.float32(9.0)
    """

    building_function: ClassVar[bool] = False
    keeps: ClassVar[bool] = True  # whether calls are deferred until shapes and values are known

    def __init__(self) -> None:
        super().__init__()
        self.trace.overrides = GraphOverrides(self, {})
        self.graph = self
        self.seeds = seeds.Global()
        self.draws: seeds.Draws = seeds.Draws()
        self.trip, self.counted, self.unseeded = None, False, 0
        self.variables: dict[Node, Variable] = {}  # handle → variable
        self.ranks: dict[Node, int] = {}  # an accepted rank of each node of unknown rank
        self.attached: dict[Node, list[Node]] = {}  # assignments by branches and loops
        self.control: dict[Node, frozenset[Node]] = {}
        self._initializers: dict[int, tuple[Node, Node]] = {}  # by variable: its initializer and initial value
        self._collections: dict[Any, list[Any]] = {}
        self._prefix = ""
        self.extents = Extents(self.trace)
        self.variable_scopes: dict[str, Any] = {}
        self.next_collections: Any = None
        # Functions that a session calls before a run that needs the node; for `drawn`, with the values of several nodes.
        self.actions: dict[Node, Any] = {}
        self.drawn: dict[Node, tuple[Any, int]] = {}  # the function, and the position among its values

    # -- the default graph

    def as_default(self) -> AbstractContextManager[Graph]:
        """Open a context in which this thread records into the graph."""
        return self._entered()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[Graph]:
        outer = root = engine.local.trace
        while root.parent is not None:
            root = root.parent
        if outer is root:
            engine.flush()
            root = engine.local.trace
        if root is not self.trace:
            self.trace.parent = root
        with engine.recording_in(self.trace), ambient.anew(), seeds.seeded_by(self.seeds):
            before = scopes.enter_scope(self._prefix)
            naming.count_graphs(1)
            try:
                yield self
            finally:
                naming.count_graphs(-1)
                scopes.enter_scope(before)

    @property
    def seed(self) -> Any:
        """The seed of the graph's random ops, set by `set_random_seed`; None: each session draws different numbers."""
        return self.seeds.seed

    @seed.setter
    def seed(self, value: Any) -> None:
        self.seeds.seed = seeds.plain(value)

    @property
    def version(self) -> int:
        """The number of recorded ops."""
        return len(self.trace.nodes)

    @property
    def finalized(self) -> bool:
        """Whether no more ops may be added."""
        return self._finalized

    def finalize(self) -> None:
        """Close the graph: recording an op is a RuntimeError from now on."""
        self._finalized = True

    # -- the interface of a trace's scope (see `control/scope.Scope`)

    def handle_of(self, variable: Variable) -> Node:
        """Return the handle of a variable; RuntimeError if it belongs to another graph."""
        if (held := variable._tensor.node) not in self.variables:
            raise RuntimeError(
                f"Attempting to capture an EagerTensor without building a function: variable {variable.name!r} was not made in "
                "this graph, and a graph has variables of its own. Make it under graph.as_default()."
            )
        return held

    def read(self, variable: Variable) -> Node:
        """Record a read of the variable."""
        return engine.record(READ, (self.handle_of(variable),))

    def hold(self, variable: Variable, node: Node) -> Tensor | None:
        """Note that `node` assigns the variable, and return its Tensor."""
        self.handle_of(variable)
        if node in self.assignments or node.trace is not self.trace:
            node = engine.record(ASSIGN, (node,))
        if node.op is ELEMENT:  # if a branch or loop assigns it, a run of either needs both
            self.attached.setdefault(node.inputs[0], []).append(node)
        self.assignments[node] = variable
        return handle(node)

    def made(self, variable: Variable) -> None:
        """Do nothing: `declare` adds the variable."""

    def initial(self, node: Node) -> Any:
        """Return None: a session computes initial values."""
        return None

    def guarded(self, op: Op, nodes: tuple[Node, ...], attrs: Attributes) -> Op:
        """Return the op itself, as a Session checks its values."""
        return op

    def differentiated(self, targets: Sequence[Node]) -> None:
        """Do nothing: a session runs the targets of a gradient with it."""

    # -- for tensors, variables and conversions

    def constant(self, array: Any) -> Node:
        """Record a `Const` op."""
        return engine.record(CONST, (), (IdentityAttr(array),))

    def counting(self, count: int, rows: Sequence[Node]) -> Node:
        """Record an op that counts from 0 to `count`, exclusive, the first extent of `rows`."""
        if engine.local.trace is not self.trace:  # a function, branch or loop takes it from its parameter
            return engine.record(COUNT, tuple(rows[:1]), (None,))
        return engine.record(COUNT, (), (count,))

    def integers(self, node: Node) -> np.ndarray | None:
        """Return the elements of an integer node that follow from extents and constants, with symbols; None if unknown."""
        found = structure_of(node)
        return None if found is None else found[0]

    def structural(self, node: Node) -> tuple[Any, ...]:
        """Return the elements of a node, with Dims for unknown ones: see `structure_of`."""
        if (constant := constant_folding.folded(node)) is not None:
            return tuple(map(int, constant.ravel()))
        found = self.integers(node)
        kept = bool(naming.local.calls) and not naming.local.calls[-1].through and not exploring()
        if found is None or (kept and self.keeps and found.dtype.hasobject):
            raise engine.NeedsValues(
                f"The value of {handle(node)} is needed to build the graph, as it says what a shape or an axis is, but it "
                "depends on values that are not known before the graph runs. Give a number, or compute it from a tensor's shape."
            )
        return tuple([v if type(v) is Dim else int(v) for v in found.ravel()])

    def supposed(self, node: Node) -> np.ndarray | None:
        """Return None: a graph assumes no values, as later ops would depend on them."""
        return None

    def deferred(self, op: Op, nodes: tuple[Node, ...], attrs: Attributes) -> Any:
        """Record an op whose result's shape depends on values, so that a run with it is not compiled as a whole.

        The op states which extents are unknown.
        """
        known = all(n.value is not None or n.op is CONST for n in nodes)
        if self.keeps and naming.local.calls and not naming.local.calls[-1].through and not known:
            raise engine.NeedsValues(f"the shape of what {op.type} gives depends on values")
        results = op.result(tuple([n.aval for n in nodes]), attrs)
        node = engine.record_as(op, nodes, attrs, results)
        BY_VALUES.add(node.op)
        return tuple([EagerTensor(n) for n in engine.elements(node)]) if isinstance(results, tuple) else EagerTensor(node)

    def set_shape(self, node: Node, shape: TensorShape) -> None:
        """Set unknown extents of a node; ValueError if `shape` contradicts known ones."""
        if not node.aval.ranked:
            node.aval = node.aval.stated(shape)
            self.extents.changed(node)
            return
        stated = node.aval.open_shape if node.aval.open else node.aval.tensor_shape
        if not stated.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {stated} is not compatible with supplied shape {shape}.")
        merged = stated.merge_with(shape)
        node.aval = aval(
            tuple([e if m is None else m for e, m in zip(node.aval.shape, merged.as_list(), strict=True)]), node.aval.dtype
        )

    def open_extents(self, node: Node, shape: TensorShape) -> None:
        """Make extents of a node unknown where `shape` has None."""
        node.aval = unranked(node.aval.type).stated(shape)
        self.extents.changed(node)

    def opened(self, node: Node, shape: TensorShape) -> Node:
        """Record a copy of `node` with unknown extents where `shape` has None."""
        from gradtape._src.ops.array.shape import identity

        new: Node = identity(handle(node)).node
        self.open_extents(new, shape)
        return new

    def attribute(self, of: Tensor, name: str) -> Any:
        """Return an attribute of Tensors in graphs."""
        node = of.node
        if name == "graph":
            return self
        if node.trace is not self.trace:
            raise AttributeError(f"Tensor.{name} is not defined inside of a branch, loop or function.")
        if name == "value_index":
            return node.attrs[0] if node.op is ELEMENT else 0
        if name == "consumers":
            return lambda: self._consumers(node)
        if name == "read_value" and node in self.assignments:
            return lambda: handle(node)
        if name in UPDATES:
            return self._following(of, name)
        operation = self.operation_of(node)
        if name == "name":
            return f"{operation.name}:{node.attrs[0] if node.op is ELEMENT else 0}"
        return operation

    def _following(self, assignment: Tensor, name: str) -> Any:
        """Return the method `name` of the variable assigned by `assignment`, to run after that."""
        variable = self.assignments.get(assignment.node)
        if variable is None:
            raise AttributeError(
                f"'Tensor' object has no attribute '{name}': only a variable, or what assigned one, is assigned."
            )

        def follow(*args: Any, **kwargs: Any) -> Any:
            with self.control_dependencies([assignment]):
                return getattr(variable, name)(*args, **kwargs)

        return follow

    def variable_attribute(self, variable: Variable, name: str) -> Any:
        """Return an attribute of Variables in graphs."""
        initializer, initial = self._initializers[variable._uid]
        if name == "initializer":
            return self.operation_of(initializer)
        if name == "initial_value":
            return handle(initial)
        if name == "graph":
            return self
        if name == "op":
            return self.operation_of(variable._tensor.node)
        if name == "handle":
            return variable._tensor
        if name == "initialized_value":
            return lambda: handle(initial)
        if name == "eval":
            return lambda session=None: self.evaluate(variable, None, session)
        return lambda value, session=None: self._session(session, "load").load(variable, value)

    def evaluate(self, fetch: Any, feed_dict: Any, session: Any) -> Any:
        """Run a tensor, variable or operation in `session`, or in the default session."""
        return self._session(session, "run" if isinstance(fetch, Operation) else "eval").run(fetch, feed_dict)

    def _session(self, session: Any, how: str) -> Any:
        if session is None:
            session = get_default_session()
            if session is None:
                what = "execute operation" if how == "run" else "evaluate tensor"
                raise ValueError(
                    f"Cannot {what} using `{how}()`: No default session is registered. Use `with sess.as_default()` or pass an "
                    f"explicit session to `{how}(session=sess)`"
                )
        if session.graph is not self:
            raise ValueError(
                "Cannot use the given session: it belongs to another graph than the tensor or operation. Make it with "
                "Session(graph=x.graph)."
            )
        return session

    # -- variables

    def declare(self, variable: Variable, initial: Node, name: str | None) -> tuple[EagerTensor, str]:
        """Add a new variable; return its handle and name. A session runs its initializer."""
        full = self.unique_name(name or "Variable")
        if initial.value is not None and initial.trace is None:
            initial = self.constant(initial.value)
        if initial.op is CONST and (note := self._notes.get(initial.index)) is not None and note.implicit:
            self._full_name(initial, f"{full}/initial_value")
        held = self._recorded(HANDLE, (), (initial.aval.dtype, initial.aval.shape), full)
        self.variables[held] = variable
        self._recorded(INITIALIZED, (held,), (), f"{full}/IsInitialized/VarIsInitializedOp")
        assign = self._recorded(ASSIGN, (initial,), (), f"{full}/Assign")
        self.assignments[assign] = variable
        self._initializers[variable._uid] = assign, initial
        self._recorded(READ, (held,), (), f"{full}/Read/ReadVariableOp")
        collections = self.next_collections
        if collections is None:
            collections = ["variables", "trainable_variables"] if variable._trainable else ["variables"]
        for key in collections:
            self.add_to_collection(key, variable)
        return EagerTensor(held), f"{full}:0"

    def begin_with(self, variable: Variable, value: Any) -> None:
        """Replace the value that the variable's initializer assigns."""
        initial = self.constant(value)
        assign = self._recorded(ASSIGN, (initial,), (), self.unique_name(f"{variable.name.removesuffix(':0')}/Assign"))
        self.assignments[assign] = variable
        self._initializers[variable._uid] = assign, initial

    def initial_scope(self, name: str | None) -> AbstractContextManager[Any]:
        """Open a context for the initial value of a variable called `name`."""
        return NameScope(f"{scopes.prefix()}{name or 'Variable'}/Initializer/")

    # -- contexts

    def gradient_override_map(self, op_type_map: dict[str, str]) -> AbstractContextManager[Any]:
        """Open a context in which ops of some types get other gradients: `{"Floor": "MyFloor"}`."""
        return gradient_override_map(op_type_map)

    def device(self, device_name_or_function: Any) -> AbstractContextManager[None]:
        """Open a context that names a device; values stay on JAX's default device."""
        return contextlib.nullcontext()

    def container(self, container_name: str) -> AbstractContextManager[None]:
        """Open a context without effect: a session has its own values without a container."""
        return contextlib.nullcontext()

    colocate_with = device

    @public
    def control_dependencies(self, control_inputs: Any) -> AbstractContextManager[None]:
        """Open a context for ops that run after `control_inputs` (operations, tensors); None removes all dependencies."""
        if control_inputs is None:
            return self._controlled(None)
        nodes = set()
        for item in nest.flatten(control_inputs):
            if item is None:
                continue
            if isinstance(item, IndexedSlices):
                item = item.values
            if isinstance(item, (str, Stored)):
                item = self.as_graph_element(item)
            if not isinstance(item, (Operation, Tensor)):
                raise TypeError(f"Control input must be Operation, Tensor or Variable, received {item!r}.")
            nodes.add(self._own(item).node)
        return self._controlled(frozenset(nodes))

    def await_inside(self, control_inputs: Any) -> None:
        """Add dependencies of a branch or loop under trace on outer ops, which then run before it."""
        nodes = [getattr(item, "node", None) for item in nest.flatten(control_inputs)]
        self._awaited.update([n for n in nodes if n is not None and n.trace is self.trace])

    @contextlib.contextmanager
    def _controlled(self, nodes: frozenset[Node] | None) -> Iterator[None]:
        before = self._controls
        self._controls = [] if nodes is None else [*before, nodes]
        try:
            yield
        finally:
            self._controls = before

    def _own(self, item: Any) -> Any:
        if isinstance(item, Operation):
            if item.graph is not self:
                raise ValueError(f"Operation {item!r} must be from the same graph.")
        elif graph_of(item.node) is not self:
            raise ValueError(f"{item} must be from the same graph.")
        return item

    def group(self, inputs: Sequence[Any], name: str) -> Operation:
        """Return an Operation that runs all `inputs`."""
        with self.control_dependencies(list(inputs)):
            engine.record(NOOP, ())
        node = self.trace.nodes[-1]
        self._notes[node.index].call, self._notes[node.index].name = None, name
        return self.operation_of(node)

    def control_inputs_of(self, node: Node) -> frozenset[Node]:
        """Return the nodes that run before `node` by control dependencies."""
        note = self._notes.get(node.index)
        return frozenset() if note is None else note.control

    # -- collections

    def _collections_here(self) -> dict[Any, list[Any]]:
        """Return the collections; in a function under trace, copies of all but those of variables."""
        found = self._collections
        functions: list[Any] = []
        trace: Trace | None = engine.local.trace
        while trace is not None and trace.scope is not None and getattr(trace.scope, "graph", None) is None:
            if not getattr(trace.scope, "nested", True):
                functions.append(trace.scope)
            trace = trace.parent
        for scope in reversed(functions):
            if scope.collections is None:
                scope.collections = {name: list(items) for name, items in found.items()}
                for name in OF_VARIABLES:
                    scope.collections[name] = found.setdefault(name, [])
            found = scope.collections
        return found

    @public
    def add_to_collection(self, name: Any, value: Any) -> None:
        """Add `value` to the collection `name`."""
        self._collections_here().setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Add `value` to each of the collections `names`."""
        for name in [names] if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return a copy of a collection; with `scope`, only items whose names start with a match of this regular expression."""
        found = self._collections_here().get(name, [])
        if scope is None:
            return list(found)
        return [item for item in found if hasattr(item, "name") and re.match(scope, item.name)]

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return a collection itself; changes of the list change the collection."""
        return self._collections_here().setdefault(name, [])

    def get_all_collection_keys(self) -> list[Any]:
        """Return the names of the collections that are not empty."""
        return [name for name, items in self._collections_here().items() if items]

    def clear_collection(self, name: Any) -> None:
        """Clear a collection."""
        self._collections_here().pop(name, None)

    # -- feeding and fetching

    def is_feedable(self, tensor: Any) -> bool:
        """Return whether a Session accepts a feed for `tensor`."""
        return isinstance(tensor, Tensor) and graph_of(tensor.node) is self

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """Return whether a Session can fetch `tensor_or_op`."""
        return True

    def placeholder(self, dtype: Any, shape: TensorShape, name: str) -> Tensor:
        """Return a tensor to be fed."""
        extents = None if shape.rank is None else symbols_for(shape)
        node = engine.record(PLACEHOLDER, (), (dtype, extents))
        note = self._notes[node.index]
        note.name, note.call = name, None
        return EagerTensor(node)

    def __enter__(self) -> Graph:
        raise TypeError("A graph is entered with `with graph.as_default():`.")

    def __exit__(self, *reason: object) -> None: ...


def symbols_for(shape: TensorShape) -> tuple[Any, ...]:
    """Return the extents of a TensorShape, with new symbols for unknown ones."""
    return tuple([unknown() if extent is None else extent for extent in shape.as_list()])


def refused(error: Exception) -> Exception:
    """Return the error for an op with invalid inputs: while a graph is built also a ValueError, or a TypeError for a dtype."""
    trace: Trace | None = engine.local.trace
    while trace is not None and getattr(trace.scope, "graph", None) is None:
        trace = trace.parent
    if trace is None or not isinstance(error, InvalidArgumentError):
        return error
    kind = DtypeInFunctionError if isinstance(error, TypeError) else InvalidInFunctionError
    return kind(None, None, error.message)


def other(node: Node, trace: Trace) -> str | None:
    mine, graph = graph_of(node), trace.scope
    if mine is None or mine is getattr(graph, "graph", None):
        return None
    spoken = f"{handle(node)} of graph {mine!r}"
    if getattr(graph, "graph", None) is None:
        return f"{spoken} is used outside of it: a graph's tensors have values in a Session only. Fetch it with session.run."
    return f"{spoken} must be from the same graph as what it is used with, {graph!r}. Make both under one graph.as_default()."


# ---------------------------------------------------------------------------------------------------------------------
# The default graph and session

_default: list[Graph] = []


@public
def get_default_graph() -> Graph:
    """Return the graph into which ops are recorded; in eager code the one that would be used in a session."""
    trace: Trace | None = engine.local.trace
    while trace is not None:
        graph: Graph | None = getattr(trace.scope, "graph", None)
        if graph is not None:
            return graph
        trace = trace.parent
    if not _default:
        _default.append(Graph())
    return _default[0]


def get_default_session() -> Any:
    """Return the innermost session entered in this thread, or None."""
    return local.sessions[-1] if local.sessions else None


@public
def disable_eager_execution() -> None:
    """Record ops into the default graph from now on, in this thread, instead of running them."""
    if local.entered is None:
        if engine.local.trace.parent is not None:
            raise ValueError("tf.disable_eager_execution must be called outside of graphs, functions and gradients.")
        if not _default:
            _default.append(Graph())
        local.entered = _default[0].as_default()
        local.entered.__enter__()


@public
def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Run ops at once again, in this thread."""
    if local.entered is not None:
        entered, local.entered = local.entered, None
        entered.__exit__(None, None, None)


@public
def reset_default_graph() -> None:
    """Replace the default graph by an empty one."""
    active = local.entered is not None
    current = get_default_graph()
    if current is not (_default[0] if _default else None):
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the "
                             "nesting and create a new graph.")  # fmt: skip
    enable_eager_execution()
    _default[:] = [Graph()]
    if active:
        disable_eager_execution()


def in_graph() -> Graph | None:
    """Return the graph into which this thread records, or None."""
    graph: Graph | None = engine.current_graph()
    return graph
