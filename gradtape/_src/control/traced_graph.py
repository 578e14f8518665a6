"""`x.op` and `x.graph` of a tensor in a function under trace: its operation, and the trace as a graph."""

from __future__ import annotations

import weakref
from typing import Any

from gradtape._src.control.function_operations import FunctionOperation
from gradtape._src.core.base.public import public
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.function_names import CONST, PLACEHOLDER, name_in_function, operation_names
from gradtape._src.core.programs.program import ELEMENT, Node, Trace, producer
from gradtape._src.core.tensors.tensor import Tensor, handle


class TracedOperation(FunctionOperation):
    """An operation of a function under trace; its inputs and outputs are tensors."""

    inputs: Any
    outputs: Any

    def __init__(self, graph: TracedGraph, node: Node, name: str) -> None:
        kind, named = (PLACEHOLDER if node.value is None else CONST), {}
        if node.op is not None:
            kind, named = node.op.type, dict(zip(node.op.attributes, node.attrs, strict=False))
        super().__init__(name, kind, [], [], named)
        self.graph, self.inputs, self.node = graph, [handle(x) for x in node.inputs or ()], node
        self.outputs = [handle(x) for x in engine.elements(node)] if isinstance(node.aval, tuple) else [handle(node)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TracedOperation) and other.node is self.node

    def __hash__(self) -> int:
        return hash(self.node)


class TracedGraph:
    """The unfinished trace of a function, branch or loop body as a graph."""

    building_function = True

    def __init__(self, trace: Trace) -> None:
        self._trace = weakref.ref(trace)

    def _nodes(self) -> list[tuple[Node, str]]:
        trace = self._trace()
        nodes = [] if trace is None else trace.nodes
        names = [] if trace is None else operation_names(trace, len(nodes))
        parameters = [(leaf, name_in_function(leaf)[:-2]) for leaf in (trace.leaves if trace else ()) if leaf.value is None]
        return parameters + [(node, name) for node, name in zip(nodes, names, strict=True) if node.op is not ELEMENT]

    def get_operations(self) -> list[TracedOperation]:
        """Return the operations so far in the order of their creation, starting with placeholders for the arguments."""
        return [TracedOperation(self, node, name) for node, name in self._nodes()]

    @public
    def get_operation_by_name(self, name: str) -> TracedOperation:
        """Return the operation of this name; KeyError if there is none."""
        for node, known in self._nodes():
            if known == name:
                return TracedOperation(self, node, name)
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")

    @public
    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor called `name`, such as "x:0"; KeyError if there is none."""
        operation, _, output = name.partition(":")
        if not output.isdigit():
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of the form "
                '"<op_name>:<output_index>".'
            )
        outputs: list[Any] = self.get_operation_by_name(operation).outputs
        if int(output) >= len(outputs):
            raise KeyError(f"The operation {operation!r} exists but only has {len(outputs)} outputs.")
        found: Tensor = outputs[int(output)]
        return found


_graphs: weakref.WeakKeyDictionary[Trace, TracedGraph] = weakref.WeakKeyDictionary()


def attribute(of: Tensor, name: str) -> Any:
    """Return `op` or `graph` of a tensor in a function."""
    node = of.node
    trace = engine.local.trace if node.trace is None else node.trace
    graph = _graphs.setdefault(trace, TracedGraph(trace))
    if name == "graph":
        return graph
    full = name_in_function(node)
    return TracedOperation(graph, producer(node), full[: full.rindex(":")])
