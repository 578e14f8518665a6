"""A function that was traced for one signature, and those that run as eager code instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradtape._src.control.arguments import Arguments
from gradtape._src.control.scope import Body, Structure, call, flatten_results
from gradtape._src.core import nest
from gradtape._src.core.convert import spoken_name, tensor
from gradtape._src.core.errors import OutOfRangeError, cut, invalid
from gradtape._src.core.program import Node, Program, leaf
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import Tensor
from gradtape._src.core.variable import Variable

if TYPE_CHECKING:
    from gradtape._src.control.function import Function


class ConcreteFunction:
    """A function traced for one signature. Called with the tensors of that signature, or with all arguments."""

    def __init__(self, function: Function, arguments: Arguments, body: Body) -> None:
        self._function, self._arguments, self._body = function, arguments, body
        self._specs: list[Any] | None = None
        self.name = f"__inference_{function._name}_{id(self) % 10000}"
        arguments.nodes = [leaf(n.aval, None) for n in arguments.nodes]  # the signature, not the first call's values
        arguments.leaves = []

    @property
    def program(self) -> Program:
        """What is run: a Program."""
        return self._body.program

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it reads or assigns."""
        return tuple({id(v): v for v in (*self._body.variables, *self._body.written)}.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones among `variables`."""
        return tuple([v for v in self.variables if v.trainable])

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors from outside of the function that it uses."""
        return list(self._body.keep)

    @property
    def structured_input_signature(self) -> Any:
        """`(args, kwargs)` with a TensorSpec for each tensor."""
        return self._arguments.fill(self._input_specs())

    def _input_specs(self) -> list[TensorSpec]:
        if self._specs is not None:
            return [s for s in self._specs if isinstance(s, TensorSpec)]
        return [TensorSpec(n.aval.shape, n.aval.type) for n in self._arguments.nodes]

    @property
    def inputs(self) -> list[TensorSpec]:
        """The specs of the tensors that it takes."""
        return self._input_specs()

    @property
    def structured_outputs(self) -> Any:
        """The results' structure, with a TensorSpec for each tensor."""
        return self._body.structure.fill(self.outputs)

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of the tensors that it gives."""
        count = len(self._body.avals) - len(self._body.written)
        return [TensorSpec(a.shape, a.type) for a in self._body.avals[:count]]

    @property
    def output_shapes(self) -> Any:
        """The shapes of the results, in their structure."""
        return nest.map_structure(lambda s: s if s is None else s.shape, self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return nest.map_structure(lambda s: s if s is None else s.dtype, self.structured_outputs)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """The signature as a text."""
        args, kwargs = self.structured_input_signature
        bound = self._function._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        parameters = self._function._signature.parameters
        lines = ["Input Parameters:"]
        lines += [f"  {n} ({parameters[n].kind.name}): {_type_text(v)}" for n, v in bound.arguments.items()] or ["  None"]
        lines += ["Output Type:", f"  {_type_text(self.structured_outputs)}", "Captures:"]
        lines += [f"  {id(t)}: {TensorSpec(t.shape, t.dtype)!r}" for t in self._body.keep] or ["  None"]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"

    def __repr__(self) -> str:
        args, kwargs = self.structured_input_signature
        bound = self._function._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        inside = ", ".join([f"{n}: {_type_text(v)}" for n, v in bound.arguments.items()])
        return f"<ConcreteFunction ({inside}) -> {_type_text(self.structured_outputs)} at {id(self):#x}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            nodes = self._nodes(args, kwargs)
            wanted = self._arguments.nodes
            if [n.aval for n in nodes] == [n.aval for n in wanted]:
                return self._run(nodes)
            for position, (given, expected) in enumerate(zip(nodes, wanted, strict=True)):
                if given.aval.dtype is not expected.aval.dtype:
                    raise invalid(
                        f"cannot compute {self.name} as input #{position}(zero-based) was expected to be a "
                        f"{spoken_name(expected.aval.type)} tensor but is a {spoken_name(given.aval.type)} tensor "
                        f"[Op:{self.name}]"
                    )
            packed_args, packed_kwargs = self._arguments.pack(nodes)  # another shape: a program of its own
            return self._function._concrete(Arguments((packed_args, packed_kwargs)))._run(nodes)
        except BaseException as error:
            cut(error)
            raise

    def _nodes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Node]:
        count = len(self._arguments.nodes)
        parameters = self._function._signature.parameters
        try:
            bound = self._function._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = Arguments((bound.args, bound.kwargs))
            if arguments.spec == self._arguments.spec and arguments.fixed == self._arguments.fixed:
                return arguments.nodes
        except (TypeError, ValueError):
            pass
        values = list(args)
        values += [kwargs[name] for name in parameters if name in kwargs]
        wanted = [n.aval.type for n in self._arguments.nodes]
        leaves = [x for x in nest.flatten(values, expand_composites=True) if not isinstance(x, (str, type(None)))]
        if len(leaves) != count:
            raise TypeError(
                f"{self.name} takes {count} tensors, {self._input_specs()}, received {len(leaves)}: {args}, {kwargs}."
            )
        return [tensor(x, None if hasattr(x, "dtype") else d).node for x, d in zip(leaves, wanted, strict=True)]

    def _run(self, nodes: Sequence[Node]) -> Any:
        return self._body.structure.pack(call(self._body, nodes))

    @property
    def graph(self) -> Any:
        """What was traced; printed, it is the program."""
        return self._body.program


class EagerFunction(ConcreteFunction):
    """A function that cannot be compiled, because a shape or the way it goes on depends on values: it runs as eager code."""

    def __init__(self, function: Function, arguments: Arguments) -> None:
        body = Body()
        body.captures, body.variables, body.written, body.keep, body.avals, body.draws = [], [], [], [], [], []
        body.structure = Structure(nest.flatten_with_spec(None)[1], [None])
        super().__init__(function, arguments, body)

    def _run(self, nodes: Sequence[Node]) -> Any:
        args, kwargs = self._arguments.pack(nodes)
        try:
            results = self._function.python_function(*args, **kwargs)
        except StopIteration:  # a loop around the call would take it for its own end
            raise OutOfRangeError(None, None, "End of sequence: the iterator has no more elements.") from None
        found, structure = flatten_results(results, self._function._result)
        return structure.pack(found)


class FirstCall(EagerFunction):
    """The call of a function that makes variables from its arguments: eager code; it is traced for the calls that follow."""

    def _run(self, nodes: Sequence[Node]) -> Any:
        results = super()._run(nodes)
        function = self._function
        function._created = True
        function._traced = {key: found for key, found in function._traced.items() if found is not self}
        function._concrete(self._arguments)  # ValueError if it makes variables again
        return results


def _type_text(value: Any) -> str:
    if isinstance(value, TensorSpec):
        return f"TensorSpec(shape={value.shape}, dtype=tf.{value.dtype.name}, name=None)"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_type_text, value))}]"
    if isinstance(value, list):
        return f"List[{', '.join(map(_type_text, value))}]"
    if isinstance(value, dict):
        return f"Dict[{', '.join(f'[{k!r}, {_type_text(v)}]' for k, v in value.items())}]"
    return f"Literal[{value!r}]"
