"""`FuncGraph`: a traced function as the graph that TensorFlow shows of it: operations, inputs and outputs, captures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gradtape._src.autodiff.backward import OF_TENSORFLOW, shown_attribute
from gradtape._src.control.graph_def import graph_def
from gradtape._src.core.errors import public
from gradtape._src.core.function_names import default_name
from gradtape._src.core.naming import Numbered
from gradtape._src.core.program import ELEMENT
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import Tensor
from gradtape._src.core.variable import Variable

if TYPE_CHECKING:
    from gradtape._src.control.concrete import ConcreteFunction
    from gradtape._src.core.aval import Aval


class FunctionOperation:
    """One operation of a traced function: its `name` and `type`, and the specs of its inputs and outputs."""

    control_inputs: tuple[FunctionOperation, ...] = ()

    def __init__(
        self,
        name: str,
        type: str,
        inputs: Sequence[TensorSpec],
        results: Sequence[TensorSpec],
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.type, self.inputs = name, type, list(inputs)
        self.outputs = [TensorSpec(spec.shape, spec.dtype, f"{name}:{i}") for i, spec in enumerate(results)]
        self._attributes = attributes or {}

    @public
    def get_attr(self, name: str) -> Any:
        """Return an attribute by name; ValueError if the op has none of it."""
        if name == "dtype" and len(self.outputs) == 1:
            return self.outputs[0].dtype
        here = OF_TENSORFLOW.get(name, name)
        if here not in self._attributes:
            raise ValueError(f"Operation {self.name!r} has no attr named '{name}'.")
        return shown_attribute(self._attributes[here])

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


def _spec(known: Aval) -> TensorSpec:
    return TensorSpec(known.tensor_shape, known.type)


class FuncGraph:
    """The graph of a traced function. Printed, it is the program that is run."""

    building_function = True

    def __init__(self, concrete: ConcreteFunction) -> None:
        self._concrete = concrete

    @property
    def name(self) -> str:
        """The name of the Python function."""
        return str(self._concrete._function._name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it reads or assigns."""
        return self._concrete.variables

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return self._concrete.trainable_variables

    @property
    def inputs(self) -> list[TensorSpec]:
        """The specs of its arguments, then those of its captures."""
        return [*self._concrete.inputs, *self.internal_captures]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of its results."""
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
        """The variables and tensors from outside that it uses."""
        return [*self.variables, *self._concrete.captured_inputs]

    @property
    def internal_captures(self) -> list[TensorSpec]:
        """The spec of each of them inside."""
        return [TensorSpec(captured.shape, captured.dtype) for captured in self.external_captures]

    @property
    def captures(self) -> list[tuple[Variable | Tensor, TensorSpec]]:
        """Both of these, in pairs."""
        return list(zip(self.external_captures, self.internal_captures, strict=True))

    def get_operations(self) -> list[FunctionOperation]:
        """Return its operations in order; those without a name of the user's have TensorFlow's default names."""
        concrete = self._concrete
        program = concrete.program
        numbered = Numbered()
        found: list[FunctionOperation] = []

        def add(
            name: str,
            type: str,
            inputs: Sequence[TensorSpec],
            results: Sequence[TensorSpec],
            attributes: Mapping[str, Any] | None = None,
        ) -> list[TensorSpec]:
            found.append(FunctionOperation(numbered(name), type, inputs, results, attributes))
            return found[-1].outputs

        leaves: list[TensorSpec] = []
        for spec in concrete.inputs:
            leaves += add((spec.name or "").removesuffix(":0"), "Placeholder", [], [spec])
        for variable in self.variables:
            held = TensorSpec(variable.shape, variable.dtype)
            leaves += add("ReadVariableOp", "ReadVariableOp", add("ReadVariableOp/resource", "Placeholder", [], [held]), [held])
        first = len(program.parameters) - len(program.constants)
        for known in program.parameters[len(leaves) : first]:
            leaves += add("Placeholder", "Placeholder", [], [_spec(known)])  # what it captures
        for known, value in zip(program.parameters[first:], program.constants, strict=True):
            leaves += add("Const", "Const", [], [_spec(known)], {"value": value})
        values: list[list[TensorSpec]] = []
        lines = program.lines or [(None, 0)] * len(program.keys)
        for (op, attrs, *references), result, line in zip(program.keys, program.avals, lines, strict=True):
            taken = [values[r][0] if r >= 0 else leaves[-1 - r] for r in references]
            if op is ELEMENT:
                values.append([values[references[0]][attrs[0]]])
            else:
                results = [_spec(one) for one in (result if isinstance(result, tuple) else (result,))]
                named = dict(zip(op.attributes, attrs, strict=True))
                values.append(add(default_name(op.type, *line), op.type, taken, results, named))
        for reference, spec in zip(program.outputs, concrete.outputs, strict=False):
            add("Identity", "Identity", [values[reference][0] if reference >= 0 else leaves[-1 - reference]], [spec])
        return found

    @public
    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False, use_pybind11_proto: bool = False) -> Any:
        """Return the operations as a `GraphDef`, TensorBoard's message: to look at or to draw, as nothing here runs it.

        `add_shapes` adds `_output_shapes`; `from_version` has no effect, as in TensorFlow. Values of constants are in it
        where they are known and have up to 1024 elements. UnimplementedError if the function runs as eager code.

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

    def __str__(self) -> str:
        return str(self._concrete.program)

    def __repr__(self) -> str:
        return f"FuncGraph(name={self.name}, id={id(self)})"
