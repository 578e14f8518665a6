"""A graph's operations under TensorFlow's names."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from gradtape._src.control.graph_def import graph_def
from gradtape._src.core.base import naming
from gradtape._src.core.base.hidden import hides
from gradtape._src.core.base.public import public, unnamed
from gradtape._src.core.base.tracebacks import internal
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Attributes, Op, ops
from gradtape._src.core.programs.program import ELEMENT, RAN, Node, Trace, producer
from gradtape._src.core.tensors import nest, scopes
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import Stored, Tensor, graph_of, handle
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.tensors.variable_ops import READ
from gradtape._src.core.values.dim import dims
from gradtape._src.ops.array.creation import _fill
from gradtape._src.ops.array.shape import _broadcast_to, _identity
from gradtape._src.v1.graphs.kinds import CONST, LATE, IdentityAttr
from gradtape._src.v1.graphs.operation import Operation

if TYPE_CHECKING:
    from gradtape._src.v1.graphs.graph import Graph

OPERATOR_FRAMES = frozenset(["forward", "reflected", "call"])
# Functions that name their result after themselves; for a number filled to a shape TensorFlow shows this type.
OWN_NAMES = frozenset(["zeros", "ones", "zeros_like", "ones_like"])
SUMMARIES = ("scalar", "histogram", "image", "text")  # these convert any name to a valid one
SPREAD_TYPES = {"zeros": _fill.op.type, "ones": _fill.op.type, "zeros_like": "ZerosLike", "ones_like": "OnesLike"}
EXPLICIT = frozenset(["constant", "convert_to_tensor", "read_value", "identity"])
VALID = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")


class Note:
    """The context in which an op was recorded: name scope, public function, control dependencies.

    `contexts` are the open contexts of control dependencies, `control` is the union of these.
    """

    __slots__ = ("call", "contexts", "control", "implicit", "name", "outermost", "prefix")

    def __init__(
        self, prefix: str, call: naming.NamedCall | None, outermost: str, name: str | None, contexts: Sequence[frozenset[Node]]
    ) -> None:
        self.prefix, self.call, self.outermost, self.name, self.contexts = prefix, call, outermost, name, tuple(contexts)
        self.control: frozenset[Node] = frozenset().union(*contexts)
        self.implicit = False


@hides(
    """
    actions assignments attached attribute await_inside begin_with constant control control_inputs_of counted counting
    declare deferred differentiated drawn draws evaluate extents graph group guarded handle_of hold initial
    initial_scope integers keeps made next_collections note open_extents opened operation_of override_of
    placeholder ranks read seeds set_shape shown structural supposed trace trip unseeded
    variable_attribute variable_scopes
    """
)
class Operations:
    """The part of a graph that manages its operations by name."""

    if TYPE_CHECKING:
        graph: Graph

    def __init__(self) -> None:
        scope: Any = self
        self.trace = Trace(engine.UNBOUNDED, Trace(engine.UNBOUNDED), None, scope)
        self.assignments: dict[Node, Variable] = {}  # assignment → variable
        self._notes: dict[int, Note] = {}
        self._seen = 0
        self._operations: dict[str, Operation] = {}
        self._of_node: dict[Node, Operation] = {}
        self._names: dict[str, int] = {}
        self._controls: list[frozenset[Node]] = []
        self._awaited: set[Node] = set()  # outer dependencies of a branch or loop under trace
        self._finalized = False
        self.shown: Op | None = None  # the op after which the next node is named

    def note(self, op: Op) -> None:
        """Note the context of an op before it is recorded."""
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified. Record ops before finalize(), or in another graph.")
        op = self.shown or op
        stack = naming.local.calls
        call = next((c for c in reversed(stack) if c.name is not None), None)
        outermost = stack[0].function if stack else ""
        if call is not None and not VALID.match(full := scopes.prefix() + (call.name or "")) and call.function not in SUMMARIES:
            raise ValueError(f"`{full}` is not a valid node name. Accepted names conform to Regex /{VALID!r}/")
        name = None
        if not stack:
            frame: Any = sys._getframe(2)
            while frame.f_back is not None and internal[frame.f_back.f_code.co_filename]:
                frame = frame.f_back
            name = op.operator if frame.f_code.co_name in OPERATOR_FRAMES else None
        elif stack[0].operator or outermost in ("getitem", "getitem_of_variable"):
            name = op.operator
        elif call is None and outermost in OWN_NAMES:
            name = outermost
        awaited = [frozenset(self._awaited)] if self._awaited else []
        self._awaited.clear()
        note = Note(scopes.prefix(), call, outermost, name, [*self._controls, *awaited])
        note.implicit = op is CONST or op is READ
        if note.implicit and outermost in EXPLICIT:
            note.implicit = False
        self._notes[len(self.trace.nodes)] = note

    def _recorded(self, op: Op, inputs: tuple[Node, ...], attrs: Attributes, name: str) -> Node:
        """Record an op under this exact name, without control dependencies."""
        controls, self._controls = self._controls, []
        try:
            node = engine.record(op, inputs, attrs)
        finally:
            self._controls = controls
        self._full_name(node, name)
        return node

    def _full_name(self, node: Node, name: str) -> None:
        note = self._notes[node.index]
        note.prefix, note.name, note.call, note.implicit, note.outermost = "", f"{name}/", None, False, ""
        if node.index < self._seen:
            self._enter(node, note)

    # -- operations

    def _sync(self) -> None:
        """Create the Operations of newly recorded nodes."""
        nodes = self.trace.nodes
        while self._seen < len(nodes):
            node = nodes[self._seen]
            self._seen += 1
            note = self._notes.get(node.index)
            if node.op is not ELEMENT and note is not None and not note.implicit:
                self._enter(node, note)

    def _enter(self, node: Node, note: Note) -> Operation:
        name = self._name_of(node, note)
        op = shown_op(node)
        type_ = op.type
        inputs: list[Node] = []
        if type_ == _broadcast_to.op.type and note.outermost in OWN_NAMES:  # a number filled to a shape
            like = list(node.inputs[:1]) if node.op is LATE else self.graph.extents.sources_of(dims(node.attrs[0]))
            type_ = SPREAD_TYPES[note.outermost] if like else CONST.type
            return self._add(node, name, type_, like[:1], self._control_of(note, like[:1]))
        for position, source in enumerate(shown_inputs(node)):
            if source.trace is not self.trace:
                if source.value is None:
                    continue  # the seed of a random op
                copy = Node((CONST, (IdentityAttr(source.value),)), (), source.aval, self.trace, len(self.trace.nodes), None, 0)
                self.trace.nodes.append(copy)
                self._add(copy, f"{name}/{_parameter(op, position)}", CONST.type, [], [])
                inputs.append(copy)
                continue
            inputs.append(source)
            maker = producer(source)
            if maker not in self._of_node and (pending := self._notes.get(maker.index)) is not None and pending.implicit:
                what = READ.type if maker.op is READ else _parameter(op, position)
                self._add(maker, self._unique(f"{name}/{what}"), maker.op.type, maker.inputs, [])
        assigned = self.assignments.get(node)
        if assigned is not None and (not inputs or inputs[0] is not assigned._tensor.node):
            inputs = [assigned._tensor.node, *inputs]
        return self._add(node, name, type_, inputs, self._control_of(note, inputs))

    def _control_of(self, note: Note, inputs: Sequence[Node]) -> list[Operation]:
        """Return the control inputs as TensorFlow lists them.

        A context is left out if an input was created in it, since that has waited already.
        """
        producers = [producer(i) for i in inputs]
        made = [other for p in producers if (other := self._notes.get(p.index)) is not None]
        waits = {
            producer(n): None
            for context in note.contexts
            if not any(context is c for other in made for c in other.contexts)
            for n in sorted(context, key=lambda n: n.index)
        }
        return [self._operation(n) for n in waits if n not in producers]

    def _add(self, node: Node, name: str, type_: str, inputs: Sequence[Node], control: Sequence[Operation]) -> Operation:
        operation = Operation(self.graph, node, name, type_, inputs, control)
        self._names.setdefault(name.lower(), 1)
        self._operations[name] = self._of_node[node] = operation
        return operation

    def _name_of(self, node: Node, note: Note) -> str:
        if note.name is not None and note.name.endswith("/"):
            return note.name[:-1]
        call = note.call
        if call is None:
            return self._unique(note.prefix + (note.name or shown_op(node).default_name or shown_op(node).type))
        main = _main(call)
        if main is node or (main is None and not call.scope):
            if call.scope:
                return call.scope
            call.scope = self._unique(note.prefix + str(call.name))
            return call.scope
        if not call.scope:
            call.scope = self._unique(note.prefix + str(call.name))
        return self._unique(f"{call.scope}/{shown_op(node).type}")

    def operation_of(self, node: Node) -> Operation:
        """Return the Operation that produces a node."""
        self._sync()
        return self._operation(producer(node))

    def _operation(self, node: Node) -> Operation:
        found = self._of_node.get(node)
        if found is None:
            if node.trace is not self.trace:
                raise ValueError(f"{handle(node)!r} is not an element of this graph.")
            found = self._enter(node, self._notes[node.index])
        return found

    def _consumers(self, node: Node) -> list[Operation]:
        self._sync()
        return [operation for operation in self._operations.values() if any(n is node for n in operation._inputs)]

    def override_of(self, node: Node) -> str | None:
        """Return the name of the gradient that overrides the node's own."""
        original = ops.get(node.op.type)
        derived = {} if original is None else original.derived
        return next((name for name, op in derived.items() if op is node.op), None)

    @unnamed
    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Return `name` within the open name scopes, made unique by a number."""
        self._sync()
        full = scopes.prefix() + name
        if not VALID.match(full):
            raise ValueError(
                f"'{full}' is not a valid root scope name. A root scope name has to match the following pattern: {VALID.pattern}"
            )
        return self._unique(full, mark_as_used)

    def _unique(self, name: str, mark: bool = True) -> str:
        key = name.lower()
        count = self._names.get(key, 0)
        if mark:
            self._names[key] = count + 1
        if count:
            base = key
            while key in self._names:
                key = f"{base}_{count}"
                count += 1
            if mark:
                self._names[key] = 1
            name = f"{name}_{count - 1}"
        return name

    @public
    def name_scope(self, name: str) -> AbstractContextManager[Any]:
        """Open a context that prefixes the names of ops created in it by `name/`."""
        if not name:
            return NameScope("")
        return NameScope(name if name.endswith("/") else self.unique_name(name) + "/")

    def get_name_scope(self) -> str:
        """Return the open name scopes, without the final "/"."""
        return scopes.prefix().rstrip("/")

    @unnamed
    def get_operations(self) -> list[Operation]:
        """Return all operations in the order of their creation."""
        self._sync()
        return list(self._operations.values())

    @unnamed
    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False, use_pybind11_proto: bool = False) -> Any:
        """Return the operations as a `GraphDef`, TensorBoard's message, to look at or to draw; gradtape cannot run one.

        `add_shapes` adds `_output_shapes`; `from_version` has no effect, as in TensorFlow. Constants include their known values
        up to 1024 elements.

        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.square(tf.constant(2.0, name="two"), name="x")
        >>> [(list(node.input), node.name, node.op) for node in graph.as_graph_def().node]
        [([], 'two', 'Const'), (['two'], 'x', 'Square')]
        """
        return graph_def(self.get_operations(), add_shapes)

    @unnamed
    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation called `name`; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        found: Operation = self.as_graph_element(name, allow_tensor=False)
        return found

    @unnamed
    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor called `name`, such as "x:0"; KeyError or ValueError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        found: Tensor = self.as_graph_element(name, allow_operation=False)
        return found

    @unnamed
    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Return the Tensor or Operation that `obj` is or names."""
        if isinstance(obj, Stored):
            obj = obj.variable._tensor
        if isinstance(obj, Tensor) and allow_tensor:
            if graph_of(obj.node) is not self:
                raise ValueError(f"Tensor {obj} is not an element of this graph.")
            return obj
        if isinstance(obj, Operation) and allow_operation:
            if obj.graph is not self:
                raise ValueError(f"Operation {obj!r} is not an element of this graph.")
            return obj
        if not isinstance(obj, str):
            kinds = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")
        self._sync()
        name, colon, output = obj.partition(":")
        if colon and not allow_tensor:
            raise ValueError(f"Name {obj!r} appears to refer to a Tensor, not an Operation.")
        found = self._operations.get(name)
        if colon:
            if not output.isdigit():
                raise ValueError(
                    f"The name {obj!r} looks like a Tensor name, but is not a valid one. Tensor names must be of the form "
                    '"<op_name>:<output_index>".'
                )
            if found is None:
                raise KeyError(
                    f"The name {obj!r} refers to a Tensor which does not exist. The operation, {name!r}, does not exist in the "
                    "graph."
                )
            if int(output) >= len(found.outputs):
                raise KeyError(
                    f"The name {obj!r} refers to a Tensor which does not exist. The operation, {name!r}, exists but only has "
                    f"{len(found.outputs)} outputs."
                )
            return found.outputs[int(output)]
        if not allow_operation:
            if found is not None:
                raise ValueError(
                    f"The name {obj!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
                    '"<op_name>:<output_index>".'
                )
            raise ValueError(
                f"The name {obj!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of the form "
                '"<op_name>:<output_index>".'
            )
        if found is None:
            raise KeyError(f"The name {obj!r} refers to an Operation not in the graph.")
        return found


class NameScope:
    """A context with a prefix for names."""

    def __init__(self, prefix: str) -> None:
        self._to = prefix

    def __enter__(self) -> str:
        self._before = scopes.enter_scope(self._to)
        return self._to

    def __exit__(self, *reason: object) -> None:
        scopes.enter_scope(self._before)


def shown_op(node: Node) -> Op:
    """Return the op to display for a node: for a deferred call, the op that produced its result."""
    assert node.op is not None
    return shown(node.op, node.attrs)


def shown(op: Op, attrs: Attributes) -> Op:
    """Return the op to display for an op with these attributes."""
    sample = getattr(attrs[0].array, "sample", None) if op is LATE else None
    return op if sample is None else op_of_sample(sample)


def op_of_sample(sample: Node) -> Op:
    """Return the op of a node recorded in an Aside."""
    if sample.op is RAN:
        op: Op = sample.attrs[0]
        return op
    return _identity.op if sample.op is None else sample.op


def shown_inputs(node: Node) -> Sequence[Node]:
    """Return the inputs to display for a node: for a deferred call of a single op, those of the op, including its constants."""
    call: Any = node.attrs[0].array if node.op is LATE else None
    sample = getattr(call, "sample", None)
    if sample is None:
        return node.inputs
    places = {given: node.inputs[i] for i, given in enumerate(call.sampled)}
    sources = sample.inputs or ()
    return [places.get(s, s) for s in sources] if all(s in places or s.value is not None for s in sources) else node.inputs


def _parameter(op: Op, position: int) -> str:
    names = op.parameters
    if position < len(names) and not (op.variadic and position == len(names) - 1):
        return names[position]
    return f"{names[-1] if names else 'input'}_{position}"


def _main(call: naming.NamedCall) -> Node | None:
    """Return the node of a call's first result."""
    for item in nest.flatten(call.result):
        if isinstance(item, IndexedSlices):
            item = item.values
        if isinstance(item, (Tensor, Operation)):
            return producer(item.node)
    return None
