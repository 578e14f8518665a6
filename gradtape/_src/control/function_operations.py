"""The operations of a traced function as in TensorFlow's graph: those of its Program, and those of its inputs.

A loop over a Dataset is `ScanDataset`, `TakeWhileDataset` if it has a `break`, and `ReduceDataset`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtape._src.autodiff.backward import OF_TENSORFLOW, shown_attribute
from gradtape._src.control.dataset_loop import REDUCE_DATASET, DatasetLoop
from gradtape._src.control.given import GivenSpec
from gradtape._src.control.scope import READ_ASSIGNED
from gradtape._src.core.base.naming import Numbered
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.spec import TensorSpec
from gradtape._src.core.programs.function_names import CONST, NO_OP, PLACEHOLDER, default_name
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.tensors.variable_ops import ASSIGN, READ
from gradtape._src.core.values import dtypes
from gradtape._src.ops.array.shape import _identity

if TYPE_CHECKING:
    from gradtape._src.control.concrete import ConcreteFunction
    from gradtape._src.core.values.aval import Aval

COPY = _identity.op.type  # the op that names a result
HANDLE = TensorSpec([], dtypes.variant)  # the handle of a dataset


class FunctionOperation:
    """One operation of a traced function: its `name`, its `type`, and the specs of its inputs and outputs."""

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
        """Return an attribute by name; ValueError if the op has no such attribute."""
        if name == "dtype" and len(self.outputs) == 1:
            return self.outputs[0].dtype
        here = OF_TENSORFLOW.get(name, name)
        if here not in self._attributes:
            raise ValueError(f"Operation {self.name!r} has no attr named '{name}'.")
        return shown_attribute(self._attributes[here])

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


class Unread(NamedTuple):
    """A placeholder for a variable's value after a loop; a read is added before the first operation that uses it."""

    variable: Variable
    spec: TensorSpec


def _spec(known: Aval) -> TensorSpec:
    return TensorSpec(known.tensor_shape, known.type)


class Operations:
    """The operations of a function, in order, as `found`."""

    def __init__(self, concrete: ConcreteFunction) -> None:
        self.found: list[FunctionOperation] = []
        self._program, self._names, self._numbered = concrete.program, concrete._traced.names, Numbered()
        self._datasets: dict[int, TensorSpec] = {}
        self._handles: dict[int, list[TensorSpec]] = {}  # by id of the variable
        self._leaves: list[Any] = []
        self._loops: list[tuple[DatasetLoop, Sequence[int]]] = [
            (attrs[0], references) for op, attrs, *references in self._program.keys if op is REDUCE_DATASET
        ]
        self._add_inputs(concrete)
        self._add_constants()
        values = self._add_nodes()
        results = zip(self._program.outputs, concrete.outputs, strict=False)
        taken = [(self._used(values[r] if r >= 0 else self._leaves[-1 - r]), spec) for r, spec in results]
        for value, spec in taken:
            self._add(COPY, COPY, [value], [spec])
        if self._loops and taken:
            self._add_end(len(taken))

    def _add(self, name: str, *described: Any) -> list[TensorSpec]:
        self.found.append(FunctionOperation(self._numbered(name), *described))
        return self.found[-1].outputs

    def _add_inputs(self, concrete: ConcreteFunction) -> None:
        """Add placeholders for the arguments and captures, and reads of the variables."""
        names, given = iter(concrete.inputs), iter(concrete._arguments.given)
        for path, value in concrete.leaves() if self._loops else ():
            if isinstance(value, TensorSpec):
                self._add_placeholder(next(names))
            elif isinstance(value, GivenSpec):
                (self._datasets[id(next(given))],) = self._add(path, PLACEHOLDER, [], [HANDLE])
        for spec in names:
            self._add_placeholder(spec)
        in_loops = {id(v) for loop, _ in self._loops for v in loop.body.variables} if self._loops else set()
        program, read = self._program, self._read()
        for variable in concrete.variables:
            held = TensorSpec(variable.shape, variable.dtype)
            if id(variable) in in_loops and -1 - len(self._leaves) not in read:
                self._leaves.append(held)
            else:
                self._leaves += self._add(READ.type, READ.type, self._handle(variable), [held])
        for known in program.parameters[len(self._leaves) : arity(program)]:
            self._leaves += self._add(PLACEHOLDER, PLACEHOLDER, [], [_spec(known)])

    def _add_placeholder(self, spec: TensorSpec) -> None:
        self._leaves += self._add((spec.name or "").removesuffix(":0"), PLACEHOLDER, [], [spec])

    def _read(self) -> set[int]:
        """Return the references that nodes and results use, except Python numbers from which a loop starts."""
        found = {r for op, _, *references in self._program.keys if op is not REDUCE_DATASET for r in references}
        found.update(self._program.outputs)
        for loop, references in self._loops:
            found.update([r for k, r in enumerate(references) if k not in loop.state.numbers])
        return found

    def _add_constants(self) -> None:
        program, read = self._program, self._read() if self._loops else None
        for known, value in zip(program.parameters[len(self._leaves) :], program.constants, strict=True):
            if read is not None and -1 - len(self._leaves) not in read:
                self._leaves.append(_spec(known))  # the loop adds a constant of its own
            else:
                self._leaves += self._add(CONST, CONST, [], [_spec(known)], {"value": value})

    def _add_nodes(self) -> list[Any]:
        """Add the nodes of the Program; return the first result of each node."""
        program = self._program
        values: list[list[Any]] = []
        lines = program.lines or [(None, 0)] * len(program.keys)
        names = self._names or [default_name(key[0], *line) for key, line in zip(program.keys, lines, strict=True)]
        for (op, attrs, *references), result, name in zip(program.keys, program.avals, names, strict=True):
            if op is ELEMENT:
                values.append([values[references[0]][attrs[0]]])
                continue
            taken = [values[r][0] if r >= 0 else self._leaves[-1 - r] for r in references]
            results = [_spec(one) for one in (result if isinstance(result, tuple) else (result,))]
            if op is REDUCE_DATASET:
                values.append(self._add_loop(attrs[0], taken, results))
            elif taken and isinstance(taken[0], Unread) and _is_of_variable(op):
                values.append(taken[:1])
            else:
                named = dict(zip(op.attributes, attrs, strict=True))
                inputs = list(map(self._used, taken))
                values.append(self._add(name, op.type, inputs, results, named))
        return [value[0] if value else None for value in values]

    def _handle(self, variable: Variable, name: str = "ReadVariableOp/resource") -> list[TensorSpec]:
        """Return the handle of a variable; add it under this name if it is new."""
        if id(variable) not in self._handles:
            held = TensorSpec(variable.shape, variable.dtype)
            self._handles[id(variable)] = self._add(name, PLACEHOLDER, [], [held])
        return self._handles[id(variable)]

    def _used(self, value: Any) -> TensorSpec:
        """Return a value as an operation's input; a variable that a loop has assigned is read first."""
        if isinstance(value, Unread):
            return self._add(READ.type, READ.type, self._handle(value.variable), [value.spec])[0]
        assert isinstance(value, TensorSpec)
        return value

    def _add_loop(self, loop: DatasetLoop, values: Sequence[Any], results: Sequence[TensorSpec]) -> list[Any]:
        """Add a loop with these inputs; return its results, with variables as Unread."""
        count, body = len(loop.state.start), loop.body
        state = self._state("normalize_element", loop, values)
        names = [f"ScanDataset/other_arguments_{k}" for k in range(len(body.variables))]
        others = [self._handle(variable, name)[0] for name, variable in zip(names, body.variables, strict=True)]
        others += map(self._used, values[count : count + len(body.captures)])
        if id(loop.dataset) not in self._datasets:
            (self._datasets[id(loop.dataset)],) = self._add("ScanDataset/input_dataset", PLACEHOLDER, [], [HANDLE])
        source = self._add("ScanDataset", "ScanDataset", [self._datasets[id(loop.dataset)], *state, *others], [HANDLE])
        if loop.state.ends:
            source = self._add("TakeWhileDataset", "TakeWhileDataset", source, [HANDLE])
        if loop.state.numbers:
            state = self._state("initial_state/normalize_element", loop, values)
        given = self._add(REDUCE_DATASET.type, REDUCE_DATASET.type, [*source, *state], results[:count] or state)
        return [*given[:count], *map(Unread, body.written, results[count:])]

    def _state(self, scope: str, loop: DatasetLoop, values: Sequence[Any]) -> list[TensorSpec]:
        """Return a loop's initial state. As in TensorFlow, Python numbers become constants, and an empty state becomes one."""
        if not loop.state.start:
            return self._add(CONST, CONST, [], [TensorSpec([], dtypes.int32)])
        state: list[TensorSpec] = []
        for k, node in enumerate(loop.state.start):
            if k in loop.state.numbers:
                state += self._add(f"{scope}/component_{k}", CONST, [], [_spec(node.aval)])
            else:
                state.append(self._used(values[k]))
        return state

    def _add_end(self, count: int) -> None:
        """Add the operation on which the last `count` depend, and which waits for the loops and their reads."""
        waiting = self.found[-count:]
        self._add(NO_OP, NO_OP, [], [])
        self.found[-1].control_inputs = tuple([o for o in self.found if o.type in (READ.type, REDUCE_DATASET.type)])
        for operation in waiting:
            operation.control_inputs = (self.found[-1],)


def _is_of_variable(op: Op) -> bool:
    """Return whether TensorFlow has no such op for a variable's value, or reads the variable instead."""
    return op in (ASSIGN, READ_ASSIGNED) or op.type == READ.type
