"""`FuncGraph`: a traced function as the graph that TensorFlow shows of it: operations, inputs and outputs, captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtape._src.core.function_names import DEFAULTS, Numbered
from gradtape._src.core.program import ELEMENT
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import Tensor
from gradtape._src.core.variable import Variable

if TYPE_CHECKING:
    from gradtape._src.control.concrete import ConcreteFunction


class FunctionOperation:
    """One operation of a traced function: its `name` and its `type`."""

    def __init__(self, name: str, type: str) -> None:
        self.name, self.type = name, type

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


class FuncGraph:
    """What a function was traced to. Printed, it is the program that is run."""

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
        """The specs of its arguments, then those of what it captures."""
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
        """What stands for each of them inside."""
        return [TensorSpec(captured.shape, captured.dtype) for captured in self.external_captures]

    @property
    def captures(self) -> list[tuple[Variable | Tensor, TensorSpec]]:
        """Both of these, in pairs."""
        return list(zip(self.external_captures, self.internal_captures, strict=True))

    def get_operations(self) -> list[FunctionOperation]:
        """Its operations in order; their names are those that TensorFlow gives where the user gives none."""
        concrete = self._concrete
        program = concrete.program
        numbered = Numbered()
        arguments = [(spec.name or "").removesuffix(":0") for spec in concrete.inputs]
        found = [FunctionOperation(numbered(name), "Placeholder") for name in arguments]
        found += [FunctionOperation(numbered("Const"), "Const") for _ in program.constants]
        types = [op.type for op, *_ in program.keys if op is not ELEMENT]
        found += [FunctionOperation(numbered(DEFAULTS.get(type, type)), type) for type in types]
        return found + [FunctionOperation(numbered("Identity"), "Identity") for _ in concrete.outputs]

    def get_operation_by_name(self, name: str) -> FunctionOperation:
        """The operation of this name; KeyError if there is none."""
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
