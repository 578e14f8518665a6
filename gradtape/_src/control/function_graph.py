"""`FuncGraph`: a traced function as TensorFlow's graph of it, with operations, inputs, outputs and captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape._src.control.function_operations import FunctionOperation, Operations
from gradtape._src.control.graph_def import graph_def
from gradtape._src.control.traced_graph import attribute
from gradtape._src.core.base import hooks
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable

if TYPE_CHECKING:
    from gradtape._src.control.concrete import ConcreteFunction

hooks.core.traced = attribute


class FuncGraph:
    """The graph of a traced function. Printed, it is the program that calls run."""

    building_function = True

    def __init__(self, concrete: ConcreteFunction) -> None:
        self._concrete = concrete

    @property
    def name(self) -> str:
        """The name of the Python function."""
        return str(self._concrete._function._name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the function reads or assigns."""
        return self._concrete.variables

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return self._concrete.trainable_variables

    @property
    def inputs(self) -> list[TensorSpec]:
        """The specs of the arguments, then those of the captures."""
        return [*self._concrete.inputs, *self.internal_captures]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of the results."""
        return self._concrete.outputs

    @property
    def structured_outputs(self) -> Any:
        """The results' structure, with a TensorSpec for each tensor."""
        return self._concrete.structured_outputs

    @property
    def structured_input_signature(self) -> Any:
        """`(args, kwargs)` with a TensorSpec for each tensor."""
        return self._concrete.structured_input_signature

    @property
    def external_captures(self) -> list[Variable | Tensor]:
        """The variables and tensors that the function uses from outside."""
        return [*self.variables, *self._concrete.captured_inputs]

    @property
    def internal_captures(self) -> list[TensorSpec]:
        """The specs of the captures."""
        return [TensorSpec(extents_of(captured), captured.dtype) for captured in self.external_captures]

    @property
    def captures(self) -> list[tuple[Variable | Tensor, TensorSpec]]:
        """Pairs of an outside variable or tensor and its spec."""
        return list(zip(self.external_captures, self.internal_captures, strict=True))

    def get_operations(self) -> list[FunctionOperation]:
        """Return the operations in order; those that the user has not named have TensorFlow's default names."""
        return Operations(self._concrete).found

    @public
    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False, use_pybind11_proto: bool = False) -> Any:
        """Return the operations as a `GraphDef`, TensorBoard's message, to look at or to draw; gradtape cannot run one.

        `add_shapes` adds `_output_shapes`; `from_version` has no effect, as in TensorFlow. Constants include their known values
        up to 1024 elements. UnimplementedError if the function runs as eager code.

        >>> double = tf.function(lambda a: a + a).get_concrete_function(tf.constant(1))
        >>> [(list(node.input), node.name) for node in double.graph.as_graph_def().node]
        [([], 'a'), (['a', 'a'], 'add'), (['add'], 'Identity')]
        """
        return graph_def(self.get_operations(), add_shapes)

    def get_operation_by_name(self, name: str) -> FunctionOperation:
        """Return the operation of this name; KeyError if there is none."""
        found = {operation.name: operation for operation in self.get_operations()}
        if name not in found:
            raise KeyError(
                f"The name {name!r} refers to an Operation not in the graph of {self.name}, which has {', '.join(found)}."
            )
        return found[name]

    def get_tensor_by_name(self, name: str) -> TensorSpec:
        """Return the spec of an operation's result, "name:0"; ValueError for another form of name, KeyError if there is none."""
        operation, colon, number = name.partition(":")
        if not colon or not number.isdigit():
            raise ValueError(f"The name {name!r} looks like an Operation name: a Tensor's is of the form '<op_name>:<index>'.")
        outputs: list[TensorSpec] = self.get_operation_by_name(operation).outputs
        if int(number) >= len(outputs):
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist: {operation} has {len(outputs)} outputs.")
        return outputs[int(number)]

    def __str__(self) -> str:
        return str(self._concrete.program)

    def __repr__(self) -> str:
        return f"FuncGraph(name={self.name}, id={id(self)})"
