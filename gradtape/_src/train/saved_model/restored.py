"""Functions that were loaded: what `tf.function` makes, with saved traces in the place of Python code."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from gradtape._src.control.arguments import Arguments, symbol
from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.control.scope import TENSOR, Body, Structure
from gradtape._src.core import nest
from gradtape._src.core.aval import Aval, aval
from gradtape._src.core.convert import tensor
from gradtape._src.core.dtypes import as_dtype
from gradtape._src.core.errors import OpError, cut, invalid
from gradtape._src.core.program import Node, read_by
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import Stored, Tensor
from gradtape._src.core.variable import Variable
from gradtape._src.ops.random.seeds import STATE, Stream
from gradtape._src.train.saved_model.encoding import Mismatch, checked_shape, matched, restored, restored_nest
from gradtape._src.train.saved_model.extents import Point
from gradtape._src.train.saved_model.reading import Programs

NOTHING = "Found zero restored functions for caller function."
_P = inspect.Parameter
KINDS = (_P.POSITIONAL_ONLY, _P.POSITIONAL_OR_KEYWORD, _P.VAR_POSITIONAL, _P.KEYWORD_ONLY, _P.VAR_KEYWORD)


class Opaque:
    """Stands for an object that was the default of a parameter, and is not part of what was saved."""

    def __repr__(self) -> str:
        return "<an object that was not saved>"


class Trace:
    """One signature of a saved function: how its arguments and results are nested, and its Program for any open extents."""

    def __init__(self, given: Any, programs: Programs, variables: Callable[[Any], Variable]) -> None:
        self._given, self._programs = given, programs
        self.base: Point = checked_shape(given["point"])
        self._multiples = checked_shape(given["multiples"])
        self._product = given["product"]
        if len(self._multiples) != len(self.base) or 0 in self._multiples or type(self._product) is not int or self._product < 1:
            raise ValueError(f"{self._multiples}, {self._product} are not what {len(self.base)} open extents are multiples of")
        stated: dict[int, list[Any]] = {}
        self.arguments = restored_nest(given["arguments"], lambda leaf: _argument(leaf, stated, len(self.base)))
        self.specs = [x for x in nest.flatten(self.arguments, expand_composites=True) if isinstance(x, TensorSpec)]
        self._shapes = [stated[id(spec)] for spec in self.specs]
        self.names = given["names"]
        if len(self.names) != len(self.specs) or not all(name is None or type(name) is str for name in self.names):
            raise ValueError(f"{self.names!r} are no names of arguments")
        leaves, spec = nest.flatten_with_spec(restored_nest(given["results"], self._result), nest.EXPANDED)
        self._structure = Structure(spec, leaves)
        self._variables = [variables(n) for n in given["variables"]]
        self._written = [variables(n) for n in given["written"]]
        self._streams: list[Stream] | None = None
        self._bodies: dict[Point, Body] = {}
        self._check(self._body(self.base, check=True))

    def _result(self, given: Any) -> Any:
        if given == "tensor":
            return TENSOR
        ((kind, value),) = given.items()
        return restored(value) if kind == "value" else tensor(self._programs.constant(value, ()))

    def avals(self, point: Point) -> list[Aval]:
        """Return the Avals of the tensors among the arguments, for these open extents."""
        shapes = [tuple([_extent(n, point) for n in shape]) for shape in self._shapes]
        return [aval(shape, spec.dtype.numpy) for shape, spec in zip(shapes, self.specs, strict=True)]

    def body(self, nodes: Sequence[Node]) -> Body:
        """Return the traced function for arguments of these shapes; InvalidArgumentError if it does not take them."""
        found: dict[int, int] = {}
        for shape, node in zip(self._shapes, nodes, strict=True):
            for stated, extent in zip(shape, node.aval.shape, strict=True):
                if type(stated) is dict and stated.get("fixed", extent) != extent:
                    raise invalid(
                        f"The function fixes extents that its signature leaves open, and was saved for a tensor of shape "
                        f"{[n.get('fixed') if type(n) is dict else n for n in shape]}. It got one of shape "
                        f"{list(node.aval.shape)}."
                    )
                if type(stated) is dict and "open" in stated and found.setdefault(stated["open"], extent) != extent:
                    raise invalid(
                        f"The function was saved for arguments of one open extent, and got {found[stated['open']]} and {extent}: "
                        f"its arguments are {self.arguments}."
                    )
        point = tuple([found.get(n, extent) for n, extent in enumerate(self.base)])
        if any(extent % by for extent, by in zip(point, self._multiples, strict=True)):
            raise invalid(
                f"The function was saved for open extents that are multiples of {list(self._multiples)}, as it takes others in "
                f"another way, and got {list(point)}: its arguments are {self.arguments}."
            )
        if math.prod(point) % self._product:
            raise invalid(
                f"The function was saved for open extents whose product is a multiple of {self._product}, as it takes no others, "
                f"and got {list(point)}: its arguments are {self.arguments}."
            )
        if point not in self._bodies:
            try:
                self._body(point)
            except ValueError as error:
                raise invalid(f"The function was not saved for the open extents {list(point)}: {error}") from None
        return self._bodies[point]

    def _body(self, point: Point, check: bool = False) -> Body:
        given, programs, body = self._given, self._programs, Body()
        body.program = programs.make(given["program"], point, check)
        body.structure, body.variables, body.written = self._structure, list(self._variables), list(self._written)
        body.updated = [i for i, v in enumerate(body.variables) if any(v is w for w in body.written)]
        body.keep = [tensor(programs.constant(c, point)) for c in given["captures"]]
        body.captures = [t.node for t in body.keep]
        draws = [programs.attribute(d, point) for d in given["draws"]]
        if self._streams is None:
            self._streams = [Stream(seed, own, blocks, repeated) for seed, own, blocks, repeated in draws]
        body.draws = [stream.shared(of[2]) for stream, of in zip(self._streams, draws, strict=True)]
        body.avals = [body.program.aval_of(r) for r in body.program.outputs]
        body.looked_at = self._looked_at(body)
        body.assignments, body.trains, body.created = [(None, 0)] * len(body.written), bool(given["trains"]), []
        self._bodies[point] = body
        return body

    def _looked_at(self, body: Body) -> list[tuple[Variable, Aval]]:
        """Return the variables of open shape that the Program reads, with the Avals for which it was saved."""
        used, first = read_by(body.program), len(self.specs)
        numbered = [(n, v) for n, v in enumerate(body.variables, first) if v._declared is not None]
        read = [(n, v) for n, v in numbered if n in used or all(v is not w for w in body.written)]
        return [(v, body.program.parameters[n]) for n, v in read]

    def _check(self, body: Body) -> None:
        """Raise ValueError unless the Programs take and give what the function says."""
        taken = [*self.avals(self.base), *[v.aval for v in body.variables], *[n.aval for n in body.captures]]
        taken += [STATE for _ in body.draws]
        program = body.program
        if list(program.parameters[: len(program.parameters) - len(program.constants)]) != taken:
            raise ValueError(f"a program takes {program.parameters}, where its function has {taken}")
        results = sum(f is TENSOR for f in self._structure.fixed)
        if len(body.avals) != results + len(body.written):
            raise ValueError(f"a program gives {len(body.avals)} values, where its function has {results + len(body.written)}")
        for variable, known in zip(body.written, body.avals[results:], strict=True):
            if known.dtype != variable.aval.dtype or not variable.shape.is_compatible_with(known.tensor_shape):
                raise ValueError(f"a program assigns {known!r} to a variable that is {variable.aval!r}")

    def fits(self, arguments: Any, convert: bool) -> Arguments:
        """Return the arguments of a call as those of this signature; Mismatch if they are others.

        `convert`: numbers, lists and arrays may stand for tensors.
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


def _extent(stated: Any, point: Point) -> int:
    """Return an extent of a stated shape: a number, one that is open, or one that the function fixes."""
    if type(stated) is not dict:
        return stated
    return stated["fixed"] if "fixed" in stated else point[stated["open"]]


def _argument(given: Any, shapes: dict[int, list[Any]], count: int) -> Any:
    """Return an argument: a TensorSpec, whose shape as it is stated is entered by its id, or a value."""
    if given == "object":
        return Opaque()
    ((kind, value),) = given.items()
    if kind == "value":
        return restored(value)
    dtype, shape, name = value
    numbers = [n["open"] for n in shape if type(n) is dict and "fixed" not in n]
    if not all(type(n) is int and 0 <= n < count for n in numbers):
        raise ValueError(f"a shape {shape!r} names an extent that is not among {count}")
    checked_shape([n["fixed"] for n in shape if type(n) is dict and "fixed" in n])
    spec = TensorSpec([None if type(n) is dict else n for n in shape], as_dtype(dtype), name)
    shapes[id(spec)] = shape
    return spec


class RestoredFunction(Function):
    """A function that was loaded: it can be called for the signatures that were saved, its `concrete_functions`."""

    def __init__(self, given: Any, traces: list[Trace]) -> None:
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

    def _of(self, trace: Trace) -> ConcreteFunction:
        """Return the traced function as it was saved, with its open extents."""
        known = dict(zip(map(id, trace.specs), trace.avals(trace.base), strict=True))

        def argument(x: Any) -> Any:
            return symbol(TensorSpec(known[id(x)].shape, x.dtype)) if isinstance(x, TensorSpec) else x

        arguments = Arguments(nest.map_structure(argument, trace.arguments, expand_composites=True))
        concrete = ConcreteFunction(self, arguments, trace.body(arguments.nodes))
        if not all(spec.shape.is_fully_defined() for spec in trace.specs):
            concrete = concrete.seen_through([TensorSpec(spec.shape, spec.dtype) for spec in trace.specs])
        concrete.name_inputs(trace.names)
        return concrete.keep()  # a signature outlives the loaded object that the function belongs to

    def all_concrete_functions(self) -> list[ConcreteFunction]:
        """Return the functions for the signatures that were saved."""
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

    def retraced(self, arguments: Arguments, passes: bool, again: Any = None) -> NoReturn:
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
                key = number, tuple([node.aval for node in arguments.nodes])
                found, nodes = self._traced.get(key), arguments.nodes
                if found is None:
                    found = self._traced[key] = ConcreteFunction(self, arguments, trace.body(nodes))
                return found, nodes
        options = [f"Option {k}:\n{_spoken(*trace.arguments)}" for k, trace in enumerate(self._saved, 1)]
        raise ValueError(
            f"Could not find matching concrete function to call loaded from the SavedModel. Got:\n{_spoken(*bound)}\n\n Expected "
            f"these arguments to match one of the following {len(options)} option(s):\n\n" + "\n\n".join(options)
        )

    def untraced(self) -> Function:
        """Return the function itself: it has no code to trace, and its Programs are there for all extents."""
        return self


def _parameter(name: Any, kind: Any, default: Any) -> inspect.Parameter:
    value = inspect.Parameter.empty if default is None else restored_nest(default, _default)
    return inspect.Parameter(name, KINDS[kind], default=value)


def _default(given: Any) -> Any:
    return Opaque() if given == "object" else restored(given["value"])


def _spec(given: Any) -> TensorSpec:
    dtype, shape, name = given["tensor"]
    return TensorSpec(shape, as_dtype(dtype), name)


def _spoken(args: Sequence[Any], kwargs: Any) -> str:
    lines = "".join([f"    * {_text(x)}\n" for x in args])
    return f"  Positional arguments ({len(args)} total):\n{lines}  Keyword arguments: {kwargs}"


def _text(value: Any) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        spec = TensorSpec(value.shape, value.dtype)
        return f"<tf.Tensor shape={spec.shape} dtype={spec.dtype.name}>"
    return repr(value)
