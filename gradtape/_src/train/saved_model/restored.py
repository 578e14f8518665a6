"""Loaded functions: `tf.function`s with saved traces in place of Python code."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from gradtape._src.control.arguments import Arguments
from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.control.open_trace import Opened
from gradtape._src.control.scope import TENSOR, ResultStructure, Traced
from gradtape._src.core.base.errors import OpError, invalid
from gradtape._src.core.base.tracebacks import cut
from gradtape._src.core.declarations.spec import TensorSpec, TypeSpec
from gradtape._src.core.programs.program import Node, Program, leaf, read_by
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.tensors import nest
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Stored, Tensor, extents_of
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.core.values.dim import unknown
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.core.values.ways import Path, fixed_by, following
from gradtape._src.ops.random.seeds import STATE, Stream
from gradtape._src.train.saved_model.encoding import SPECS, Mismatch, Slot, checked_shape, matched, restored, restored_nest
from gradtape._src.train.saved_model.extents import Point, at, holds, spoken
from gradtape._src.train.saved_model.reading import Programs

NOTHING = "Found zero restored functions for caller function."
_P = inspect.Parameter
KINDS = (_P.POSITIONAL_ONLY, _P.POSITIONAL_OR_KEYWORD, _P.VAR_POSITIONAL, _P.KEYWORD_ONLY, _P.VAR_KEYWORD)


class Opaque:
    """A placeholder for an object that was the default of a parameter, and was not saved."""

    def __repr__(self) -> str:
        return "<an object that was not saved>"


class Way:
    """A saved trace on one way: its conditions on extents, its results, and its Program for any extents that meet them."""

    def __init__(self, given: Any, count: int, programs: Programs, variables: Callable[[Any], Variable]) -> None:
        self._given, self._programs = given, programs
        self.symbols = [unknown() for _ in range(count)]
        self.conditions = given["conditions"]
        self.path = Path.of([_condition(c, tuple(self.symbols)) for c in self.conditions])
        self.example: Point | None = None if given["point"] is None else checked_shape(given["point"])
        if self.example is not None and (len(self.example) != count or not self.takes(self.example)):
            raise ValueError(f"{given['point']} are no extents of this way of {count}")
        leaves, spec = nest.flatten_with_spec(restored_nest(given["results"], self._result), nest.EXPANDED)
        self._structure = ResultStructure(spec, leaves)
        self._variables = [variables(n) for n in given["variables"]]
        self._written = [variables(n) for n in given["written"]]
        self._streams: list[Stream] | None = None
        self._bodies: dict[Point, Traced] = {}

    def _result(self, given: Any) -> Any:
        if given == "tensor":
            return TENSOR
        ((kind, value),) = given.items()
        return restored(value) if kind == "value" else tensor(self._programs.constant(value))

    def takes(self, point: Point) -> bool:
        """Return whether these extents meet the conditions of the way."""
        return self.path.fits({d.symbol: extent for d, extent in zip(self.symbols, point, strict=True)})

    def body(self, point: Point, check: Sequence[Aval] | None = None) -> Traced:
        """Return the function for these extents. `check` are Avals of arguments to validate it and the file's statements with."""
        if point not in self._bodies:
            given, programs = self._given, self._programs
            program = programs.make(given["program"], point, check is not None)
            keep = [tensor(programs.constant(c)) for c in given["captures"]]
            draws = [programs.attribute(d, point) for d in given["draws"]]
            if self._streams is None:
                self._streams = [Stream(seed, own, blocks, repeated) for seed, own, blocks, repeated in draws]
            first = arity(program) - len(self._variables) - len(keep) - len(draws)
            body = Traced(
                program,
                self._structure,
                captures=[t.node for t in keep],
                keep=keep,
                variables=self._variables,
                written=self._written,
                draws=[stream.shared(of[2]) for stream, of in zip(self._streams, draws, strict=True)],
                looked_at=_looked_at(program, self._variables, self._written, first),
                trains=bool(given["trains"]),
            )
            if check is not None:
                self._check(body, check)
            self._bodies[point] = body
        return self._bodies[point]

    def _check(self, body: Traced, arguments: Sequence[Aval]) -> None:
        """Raise ValueError unless the Programs match the parameters and results of the function."""
        taken = [*arguments, *[v.aval for v in body.variables], *[n.aval for n in body.captures]]
        taken += [STATE for _ in body.draws]
        program = body.program
        if list(program.parameters[: arity(program)]) != taken:
            raise ValueError(f"a program takes {program.parameters}, where its function has {taken}")
        results = sum(f is TENSOR for f in self._structure.fixed)
        if len(body.avals) != results + len(body.written):
            raise ValueError(f"a program gives {len(body.avals)} values, where its function has {results + len(body.written)}")
        for variable, known in zip(body.written, body.avals[results:], strict=True):
            if known.dtype != variable.aval.dtype or not variable.shape.is_compatible_with(known.tensor_shape):
                raise ValueError(f"a program assigns {known!r} to a variable that is {variable.aval!r}")


def _condition(given: Any, symbols: Point) -> tuple[str, Any, bool]:
    relation, extent, answer = given
    if relation not in ("==", "<") or type(answer) is not bool:
        raise ValueError(f"{given!r} is no condition")
    return relation, at(extent, symbols), answer


def _looked_at(
    program: Program, variables: Sequence[Variable], written: Sequence[Variable], first: int
) -> list[tuple[Variable, Aval]]:
    """Return the variables of open shape that the Program reads, with the Avals for which it was saved."""
    used = read_by(program)
    numbered = [(n, v) for n, v in enumerate(variables, first) if v._declared is not None]
    read = [(n, v) for n, v in numbered if n in used or all(v is not w for w in written)]
    return [(v, program.parameters[n]) for n, v in read]


class RestoredTrace:
    """One signature of a saved function: the nest of its arguments, and its ways for open extents."""

    def __init__(self, given: Any, programs: Programs, variables: Callable[[Any], Variable]) -> None:
        self.arguments = restored_nest(given["arguments"], _argument)
        slots = [x for x in nest.flatten(self.arguments, expand_composites=True) if isinstance(x, Slot)]
        self.specs, self._shapes = [slot.spec for slot in slots], [slot.shape for slot in slots]
        opened = [n["open"] for shape in self._shapes for n in shape if type(n) is dict]
        if opened != [*range(len(opened))]:
            raise ValueError(f"{opened} are no numbers of open extents")
        self.names = given["names"]
        if len(self.names) != len(self.specs) or not all(name is None or type(name) is str for name in self.names):
            raise ValueError(f"{self.names!r} are no names of arguments")
        self.ways = [Way(way, len(opened), programs, variables) for way in given["ways"]]
        if not self.ways:
            raise ValueError("a function has no trace")
        for way in self.ways:
            if way.example is not None:
                way.body(way.example, self.avals(way.example))

    def avals(self, point: Point) -> list[Aval]:
        """Return the Avals of the tensor arguments for these open extents."""
        shapes = [[point[n["open"]] if type(n) is dict else n for n in shape] for shape in self._shapes]
        return [aval(shape, spec.dtype.numpy) for shape, spec in zip(shapes, self.specs, strict=True)]

    def body(self, nodes: Sequence[Node]) -> Traced:
        """Return the traced function for arguments of these shapes; InvalidArgumentError if it does not support them."""
        pairs = [pair for shape, n in zip(self._shapes, nodes, strict=True) for pair in zip(shape, n.aval.shape, strict=True)]
        point = tuple([extent for stated, extent in pairs if type(stated) is dict])
        way = next((way for way in self.ways if way.takes(point)), None)
        if way is None:
            shapes = [list(n.aval.shape) for n in nodes]
            raise invalid(
                f"The function fixes extents that its signature leaves open, and was saved for {self._spoken(point)}. It got "
                f"{', '.join([f'one of shape {shape}' for shape in shapes])}."
            )
        unchecked = way.example is None and all(type(extent) is int for extent in point)
        try:
            return way.body(point, self.avals(point) if unchecked else None)
        except ValueError as error:
            raise invalid(f"The function was not saved for the open extents {list(point)}: {error}") from None

    def _spoken(self, point: Point) -> str:
        """Describe the shapes of the first way, and the other condition that these extents violate."""
        way = self.ways[0]
        fixed = {atom: n for relation, d, answer in way.path.conditions if answer for atom, n in fixed_by(relation, d)}
        shown: list[Any] = [fixed.get(d.symbol) for d in way.symbols]
        wrong = next((c for c in way.conditions if not holds(c, point)), None)
        is_fixed = any(n is not None and n != extent for n, extent in zip(shown, point, strict=True))
        if wrong is not None and not is_fixed:
            shown = [string.ascii_letters[n % 52] for n in range(len(shown))]
        shapes = [[shown[n["open"]] if type(n) is dict else n for n in shape] for shape in self._shapes]
        text = " and ".join([f"a tensor of shape [{', '.join(map(str, shape))}]" for shape in shapes])
        return text if wrong is None or is_fixed else f"{text}, where {spoken(wrong)}"

    def fits(self, arguments: Any, convert: bool) -> Arguments:
        """Convert the arguments of a call to those of this signature; Mismatch if they differ.

        With `convert`, numbers, lists and arrays are accepted for tensors.
        """

        def tensor_of(spec: TensorSpec, given: Any) -> Tensor:
            if not isinstance(given, (Tensor, Stored)):
                if not convert or given is None or isinstance(given, TensorSpec):
                    raise Mismatch
                try:
                    given = tensor(given, spec.dtype)
                except (TypeError, ValueError, OpError):
                    raise Mismatch from None
            found = tensor(given)
            if not spec.is_compatible_with(found):
                raise Mismatch
            return found

        return Arguments(matched(self.arguments, arguments, tensor_of))

    def filled(self, values: Iterable[Any]) -> Any:
        """Return the nest of arguments with these values in place of the tensors."""
        remaining = iter(values)
        return nest.map_structure(lambda x: next(remaining) if isinstance(x, Slot) else x, self.arguments, expand_composites=True)


def _argument(given: Any) -> Any:
    """Return an argument: the Slot of a tensor, or a value."""
    if given == "object":
        return Opaque()
    ((kind, value),) = given.items()
    if kind == "value":
        return restored(value)
    dtype, shape, name = value
    return Slot(TensorSpec([None if type(n) is dict else n for n in shape], as_dtype(dtype), name), shape)


class RestoredFunction(Function):
    """A loaded function, which can be called for the saved signatures, its `concrete_functions`."""

    def __init__(self, given: Any, traces: list[RestoredTrace]) -> None:
        def code(*args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError("The Python code of a loaded function is not part of what was saved: call the function.")

        name, specs = given["name"], given["input_signature"]
        if type(name) is not str:
            raise ValueError(f"a function has the name {name!r}")
        code.__signature__ = inspect.Signature([_parameter(*p) for p in given["parameters"]])  # type: ignore[attr-defined]
        code.__name__ = code.__qualname__ = name
        super().__init__(code, None if specs is None else restored_nest(specs, _spec), autograph=False, name=name)
        self._saved = traces
        self.concrete_functions = [self._of(trace) for trace in traces]

    def _of(self, trace: RestoredTrace) -> ConcreteFunction:
        """Return the traced function as it was saved, with open extents."""
        opened = Opened([spec.shape for spec in trace.specs])
        for way in trace.ways:
            point = tuple(way.symbols)
            nodes = [leaf(a, None) for a in trace.avals(point)]
            arguments = Arguments(trace.filled(map(EagerTensor, nodes)))
            with following(way.path):
                opened.keep(way.path, ConcreteFunction(self, arguments, way.body(point)))
        concrete = opened.traces[0]
        if trace.ways[0].symbols:
            concrete = concrete.seen_through([TensorSpec(spec.shape, spec.dtype) for spec in trace.specs])
        concrete.name_inputs(trace.names)
        return concrete.keep()  # a signature outlives the loaded object with the function

    def open_traces(self, arguments: Arguments, shapes: Sequence[TensorShape]) -> list[ConcreteFunction]:
        """Return the saved ways of the signature with these shapes."""
        opened = [c.opened for c in self.concrete_functions if [s.shape for s in c._input_specs()] == list(shapes)]
        return opened[0].traces if opened else []

    def all_concrete_functions(self) -> list[ConcreteFunction]:
        """Return the concrete functions of the saved signatures."""
        return self.concrete_functions

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not self._saved:
                raise ValueError(NOTHING)
            found, nodes = self._found(self._signature.bind(args, kwargs))
            return found.run(nodes)
        except BaseException as error:
            cut(error)
            raise

    def traced_for(self, arguments: Arguments, passes: bool = False, again: Any = None) -> NoReturn:
        """Raise InvalidArgumentError: there is no Python code to trace for other extents of variables."""
        raise invalid(
            f"{self._name} was saved for other shapes of its variables than they have now. A loaded function cannot be traced "
            "again: give them the shapes that they had, or save the object anew with these."
        )

    def _concrete(self, arguments: Arguments) -> ConcreteFunction:
        return self._found(arguments.pack(arguments.nodes))[0]

    def _found(self, bound: Any) -> tuple[ConcreteFunction, list[Node]]:
        """Return the traced function for the arguments of a call, and their nodes."""
        for convert in (False, True):
            for number, trace in enumerate(self._saved):
                try:
                    arguments = trace.fits(bound, convert)
                except Mismatch:
                    continue
                nodes = arguments.nodes
                if any(node.aval.open for node in nodes):
                    return ConcreteFunction(self, arguments, trace.body(nodes)), nodes
                key = number, tuple([node.aval for node in nodes])
                found = self._traced.get(key)
                if found is None:
                    found = self._traced[key] = ConcreteFunction(self, arguments, trace.body(nodes))
                return found, nodes
        options = [f"Option {k}:\n{_spoken(*trace.filled(trace.specs))}" for k, trace in enumerate(self._saved, 1)]
        raise ValueError(
            f"Could not find matching concrete function to call loaded from the SavedModel. Got:\n{_spoken(*bound)}\n\n Expected "
            f"these arguments to match one of the following {len(options)} option(s):\n\n" + "\n\n".join(options)
        )

    def untraced(self) -> Function:
        """Return the function itself, which has no code to trace, and Programs for all extents."""
        return self


def _parameter(name: Any, kind: Any, default: Any) -> inspect.Parameter:
    value = inspect.Parameter.empty if default is None else restored_nest(default, _default)
    return inspect.Parameter(name, KINDS[kind], default=value)


def _default(given: Any) -> Any:
    if given == "object":
        return Opaque()
    if "array" in given:
        name, shape, numbers = given["array"]
        return np.array([restored(number) for number in numbers], as_dtype(name).numpy).reshape(checked_shape(shape))
    return restored(given["value"])


def _spec(given: Any) -> TypeSpec:
    ((name, parts),) = given.items()
    if name == "tensor":
        dtype, shape, called = parts
        return TensorSpec(shape, as_dtype(dtype), called)
    found: TypeSpec = SPECS[name](*map(restored, parts))
    return found


def _spoken(args: Sequence[Any], kwargs: Any) -> str:
    lines = "".join([f"    * {_text(x)}\n" for x in args])
    return f"  Positional arguments ({len(args)} total):\n{lines}  Keyword arguments: {kwargs}"


def _text(value: Any) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        spec = TensorSpec(extents_of(value), value.dtype)
        return f"<tf.Tensor shape={spec.shape} dtype={spec.dtype.name}>"
    return repr(value)
