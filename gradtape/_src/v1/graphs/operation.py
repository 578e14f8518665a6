"""`Operation`: TensorFlow's view of a graph's node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradtape._src.autodiff.backward import OF_TENSORFLOW, implied_attribute, shown_attribute
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import constant_folding
from gradtape._src.core.programs.program import Node
from gradtape._src.core.tensors.tensor import Tensor, handle, name_of
from gradtape._src.core.values.dim import is_unknown
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.v1.graphs.kinds import CONST, HANDLE, LATE, PLACEHOLDER

if TYPE_CHECKING:
    from gradtape._src.v1.graphs.graph import Graph


class Operation:
    """One op of a `Graph`: `name`, `type`, `inputs`, `outputs`, `control_inputs`, `get_attr(name)`; `run()` runs it.

    >>> with tf.Graph().as_default():
    ...     y = tf.constant(1.0, name="one") + tf.constant(2.0)
    >>> print(y.op.type, [x.name for x in y.op.inputs])
    AddV2 ['one:0', 'Const:0']
    """

    __slots__ = ("__weakref__", "_control", "_graph", "_inputs", "_name", "_type", "node")

    def __init__(
        self, graph: Graph, node: Node, name: str, type: str, inputs: Sequence[Node], control: Sequence[Operation]
    ) -> None:
        self._graph, self.node, self._name, self._type = graph, node, name, type
        self._inputs, self._control = tuple(inputs), tuple(control)

    @property
    def name(self) -> str:
        """The name, unique in the graph."""
        return self._name

    @property
    def type(self) -> str:
        """The name of the op type."""
        return self._type

    @property
    def graph(self) -> Graph:
        """The graph to which it belongs."""
        return self._graph

    @property
    def device(self) -> str:
        """The empty string, as no device is assigned."""
        return ""

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The input Tensors."""
        return tuple([handle(node) for node in self._inputs])

    @property
    def outputs(self) -> list[Tensor]:
        """The output Tensors."""
        node = self.node
        if type(node.aval) is not tuple:
            return [handle(node)]
        nodes = node.trace.nodes
        return [handle(nodes[node.index + 1 + i]) for i in range(len(node.aval))]

    def values(self) -> tuple[Tensor, ...]:
        """Return the output Tensors, as a tuple."""
        return tuple(self.outputs)

    @property
    def control_inputs(self) -> list[Operation]:
        """The Operations that run before this one by control dependencies."""
        return list(self._control)

    @public
    def get_attr(self, name: str) -> Any:
        """Return an attribute by name; ValueError if the op has no such attribute."""
        node = self.node
        op = node.op
        here = OF_TENSORFLOW.get(name, name)
        attributes = {} if op is None else dict(zip(op.attributes, node.attrs, strict=True))
        if op is LATE:
            attributes = getattr(attributes["call"].array, "attributes", {})
        if here in attributes:
            value = attributes[here]
            if op in (PLACEHOLDER, HANDLE) and name == "shape":
                return TensorShape([None if is_unknown(extent) else extent for extent in value])
            return node.aval.type if name == "dtype" else shown_attribute(value)
        if name == "dtype" and type(node.aval) is not tuple:
            return node.aval.type
        if op is not None and (implied := implied_attribute(name, node.inputs, node)) is not None:
            return implied
        if name == "value" and self._type == CONST.type:  # or a value computed from constants, such as `zeros`
            value = node.attrs[0].array if op is CONST else constant_folding.folded(node)
            if value is not None:
                return value
        if name == "_gradient_op_type":
            override = self._graph.override_of(node)
            if override is not None:
                return shown_attribute(override)
        raise ValueError(f"Operation {self._name!r} has no attr named '{name}'.")

    @public
    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run this operation in `session`, or the default session."""
        self._graph.evaluate(self, feed_dict, session)

    def __repr__(self) -> str:
        return f"<tf.Operation {self._name!r} type={self._type}>"

    def __str__(self) -> str:
        lines = [f'name: "{self._name}"', f'op: "{self._type}"']
        lines += [f'input: "{name_of(x).removesuffix(":0")}"' for x in self.inputs]
        lines += [f'input: "^{c.name}"' for c in self._control]
        return "\n".join(lines) + "\n"
