"""Traced functions as JSON data: arguments and results, the Program, and what it takes besides its arguments."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.arguments import Arguments
from gradtape._src.control.concrete import ConcreteFunction, EagerFunction
from gradtape._src.control.function import Function
from gradtape._src.control.scope import Body
from gradtape._src.core import engine
from gradtape._src.core.aval import aval
from gradtape._src.core.errors import InvalidArgumentError
from gradtape._src.core.program import leaf
from gradtape._src.core.spec import TensorSpec
from gradtape._src.core.tensor import Tensor, to_numpy
from gradtape._src.core.variable import Variable
from gradtape._src.ops.random.seeds import Shared
from gradtape._src.train.saved_model.encoding import Unsaveable, nest_data, plain
from gradtape._src.train.saved_model.extents import PRODUCTS, Point, enough, points, points_of_product
from gradtape._src.train.saved_model.pinning import REFUSALS, Fixed, Shapes, calls_of, of_ranks, pinned
from gradtape._src.train.saved_model.writing import Varies, Writer

logger = logging.getLogger("gradtape")

MULTIPLES = (1, 32)  # open extents behind the first are traced as multiples of these: some functions take no others
LAST = object()  # a result that is a tensor


class Place(int):
    """The number of a tensor among the arguments."""


class Open(int):
    """The number of an open extent, in a shape."""


class Pinned(int):
    """The value of an open extent that the function fixes, in a shape."""


class Tracer:
    """Writes functions; `number_of` gives the number of a variable's object, and raises for one that is not tracked.

    `extents` are those of the variables, which are tried where a function fixes an open extent.
    """

    def __init__(
        self, writer: Writer, number_of: Callable[[Variable, ConcreteFunction], int], extents: Sequence[int] = ()
    ) -> None:
        self._writer, self._number_of, self._extents = writer, number_of, extents
        self._fresh: dict[int, tuple[Function, Function]] = {}

    def function(self, function: Function, concretes: Sequence[ConcreteFunction] | None = None) -> dict[str, Any]:
        """Return a function as JSON data, with each signature that it was traced for, or with these traces.

        One with an input signature is traced.
        """
        if concretes is None:
            of = function if function.input_signature is None else self._untraced(function)
            found = [trace for c in of.all_concrete_functions() for trace in self._saveable(c, function)]
        else:
            found = [trace for c in concretes for trace in self._of_ranks(c, function)]
        parameters = [
            [p.name, int(p.kind), None if p.default is p.empty else nest_data(p.default, _literal)]
            for p in function._signature.parameters.parameters.values()
        ]
        specs = function.input_signature if concretes is None else None
        return {
            "name": str(function._name),
            "parameters": parameters,
            "input_signature": None if specs is None else nest_data(specs, _stated),
            "traces": found,
            "concrete": concretes is not None,
        }

    def _untraced(self, function: Function) -> Function:
        """Return a copy of a function, without traces: those that are made to save it are none of the user's."""
        return self._fresh.setdefault(id(function), (function, function.untraced()))[1]

    def _saveable(self, concrete: ConcreteFunction, function: Function) -> list[dict[str, Any]]:
        """Return the traces of a signature; none where an argument is an object, which no call of a loaded function could
        give.
        """
        try:
            nest_data(concrete._arguments.fill(concrete._input_specs()), lambda x: isinstance(x, TensorSpec) or plain(x))
        except Unsaveable as error:
            logger.warning("A trace of %s is not saved, because of an argument: %s.", concrete._function._name, error)
            return []
        return self._of_ranks(concrete, function)

    def _of_ranks(self, concrete: ConcreteFunction, function: Function) -> list[dict[str, Any]]:
        """Return the traces of a signature: one, or where it leaves ranks open one for each rank that it was called with, or
        takes.
        """
        calls = calls_of(function, concrete._input_specs())
        if all(spec.shape.rank is not None for spec in concrete._input_specs()):
            return [self.trace(concrete, calls)]
        found: list[dict[str, Any]] = []
        refused: Exception | None = None
        for specs in of_ranks(concrete, calls):
            ranked = concrete.seen_through(specs)
            ranked.name_inputs(concrete._named)
            try:
                found.append(self.trace(ranked, calls_of(function, specs)))
            except REFUSALS as error:
                if calls:
                    raise
                refused = refused or error
        if not found:
            raise ValueError(
                f"The function {concrete._function._name!r} cannot be saved for {concrete._input_specs()}, whose rank is open, "
                f"with any rank from 0 to 4. State the shape in the TensorSpec, or call the function before: {refused}"
            ) from refused
        return found

    def trace(self, concrete: ConcreteFunction, calls: Sequence[Shapes] = ()) -> dict[str, Any]:
        """Return a traced function as JSON data; errors say why it cannot be saved, and at which line.

        `calls` are shapes that the function is known to take.
        """
        specs = concrete._input_specs()
        name = concrete._function._name
        try:
            shapes = [list(node.aval.shape) for node in concrete._arguments.nodes]
            if shapes == [spec.shape.as_list() for spec in specs] and not isinstance(concrete, EagerFunction):
                return self._written(concrete, specs, shapes, [()], [concrete])
            return self._of_open_extents(concrete, specs, calls)
        except Unsaveable as error:
            raise ValueError(f"The function {name!r} cannot be saved: {error}") from None
        except Varies as error:
            raise ValueError(
                f"The function {name!r} cannot be saved with an open extent: traced for several of them, {error}. State that "
                "extent in the TensorSpec, or compute with tf.shape of the tensor and not with Python numbers."
            ) from None

    def _of_open_extents(
        self, concrete: ConcreteFunction, specs: Sequence[TensorSpec], calls: Sequence[Shapes]
    ) -> dict[str, Any]:
        """Trace for several values of what is open. Extents that must agree with each other are one.

        Where none of them can be traced, their product may be a multiple of an extent of a variable, or some may be fixed.
        """
        function = self._untraced(concrete._function)
        every = [(by, 1) for by in MULTIPLES]
        found, refused = self._tried(function, concrete, specs, {}, every)
        if found is None and not isinstance(refused, Varies):
            products = [(1, extent) for extent in sorted(set(self._extents), reverse=True) if extent > 1]
            found, _ = self._tried(function, concrete, specs, {}, products)
            if found is None and (known := pinned(concrete, calls, self._extents)) is not None:
                found, refused = self._tried(function, concrete, specs, known[1], every)
        if found is not None:
            return found
        if isinstance(refused, Varies):
            raise refused
        raise ValueError(
            f"The function {concrete._function._name!r} cannot be traced for the open extents of {list(specs)}: {refused}"
        ) from refused

    def _tried(
        self,
        function: Function,
        of: ConcreteFunction,
        specs: Sequence[TensorSpec],
        fixed: Fixed,
        divisors: Sequence[tuple[int, int]],
    ) -> tuple[dict[str, Any] | None, Exception | None]:
        """Return a trace for the first of these divisors, of each extent and of their product, that gives one; or the first
        error.
        """
        refused: Exception | None = None
        for by, product in divisors:
            for shapes, axes in _symbols(specs, fixed):
                try:
                    return self._sampled(function, of, specs, shapes, [by if axis else 1 for axis in axes], product), None
                except (ValueError, InvalidArgumentError, Varies) as error:
                    refused = refused or error
        return None, refused

    def _sampled(
        self,
        function: Function,
        of: ConcreteFunction,
        specs: Sequence[TensorSpec],
        shapes: Any,
        multiples: list[int],
        product: int,
    ) -> dict[str, Any]:
        """Trace at so many points that formulas of degree 1 are verified; where these do not suffice, of higher ones."""
        traced: list[ConcreteFunction] = []
        at: list[Point] = []
        count = len(multiples)
        stops = sorted({enough(count, degree) for degree in range(1, PRODUCTS + 1)}) if count else [1]
        for point in points(multiples) if product == 1 else points_of_product(count, product):
            extents = [tuple([point[n] if type(n) is Open else int(n) for n in shape]) for shape in shapes]
            nodes = [leaf(aval(s, spec.dtype.numpy), None) for s, spec in zip(extents, specs, strict=True)]
            traced.append(function._concrete(Arguments(of._arguments.pack(nodes))).keep())
            at.append(point)
            if len(at) in stops:
                try:
                    return self._written(of, specs, shapes, at, traced) | {"multiples": multiples, "product": product}
                except Varies:
                    if len(at) == stops[-1]:
                        raise
        raise AssertionError

    def _written(
        self,
        of: ConcreteFunction,
        specs: Sequence[TensorSpec],
        shapes: Sequence[Any],
        at: Sequence[Point],
        traced: Sequence[ConcreteFunction],
    ) -> dict[str, Any]:
        for concrete in traced:
            if isinstance(concrete, EagerFunction):
                raise NotImplementedError(
                    f"The function {of._function._name!r} cannot be saved: it runs as eager code, because {concrete.reason}. "
                    "Only what is traced to one program can be saved."
                )
            if concrete.elements:
                raise NotImplementedError(
                    f"The function {of._function._name!r} cannot be saved: it takes elements from an iterator, which is no part "
                    "of a saved model. Let it take tensors, and its caller the elements."
                )
        bodies = [concrete._body for concrete in traced]
        first = bodies[0]
        columns = ("variables", "written", "captures", "draws")
        if any(len(getattr(body, c)) != len(getattr(first, c)) for body in bodies for c in columns):
            raise Varies("it uses other variables or constants")
        leaves = [_leaf_of(spec, shape) for spec, shape in zip(specs, shapes, strict=True)]
        places = of._arguments.fill([Place(k) for k in range(len(leaves))])
        results = first.structure.fill([LAST] * (len(first.avals) - len(first.written)))
        return {
            "arguments": nest_data(places, lambda x: leaves[x] if type(x) is Place else _literal(x)),
            "names": of._named,
            "point": list(at[0]),
            "multiples": [],
            "product": 1,
            "results": nest_data(results, self._result),
            "program": self._writer.program([body.program for body in bodies], at),
            "variables": self._variables(bodies, "variables", of),
            "written": self._variables(bodies, "written", of),
            "captures": [self._writer.constant([*map(_value, nodes)], at) for nodes in _columns(bodies, "captures")],
            "draws": [self._draw(streams, at) for streams in _columns(bodies, "draws")],
            "trains": first.trains,
        }

    def _variables(self, bodies: Sequence[Body], which: str, of: ConcreteFunction) -> list[int]:
        """Return the numbers of variables, which are the same in all traces."""
        for column in _columns(bodies, which):
            if any(v is not column[0] for v in column):
                raise Varies("it uses other variables")
        return [self._number_of(v, of) for v in getattr(bodies[0], which)]

    def _result(self, value: Any) -> Any:
        if value is LAST:
            return "tensor"
        if isinstance(value, Tensor):
            return {"constant": self._writer.stored(to_numpy(value.node))}
        return {"value": plain(value)}

    def _draw(self, streams: Sequence[Any], at: Sequence[Point]) -> Any:
        begun = [s.stream if isinstance(s, Shared) else s for s in streams]
        return self._writer.attribute([(b.seed, b.own, s.blocks, b.repeated) for b, s in zip(begun, streams, strict=True)], at)


def _symbols(specs: Sequence[TensorSpec], fixed: Fixed) -> Iterator[tuple[list[list[Any]], list[int]]]:
    """Return the shapes of specs with the open extents numbered: each by itself, those of one axis as one, and all as one.

    Those that are fixed are not open. With the shapes come the axes of the numbered extents, of several the last.
    """
    seen = []
    for name in (lambda k, axis: (k, axis), lambda k, axis: axis, lambda k, axis: 0):
        axes: dict[Any, int] = {}
        shapes: list[list[Any]] = []
        for k, spec in enumerate(specs):
            shape: list[Any] = spec.shape.as_list()
            for axis in [i for i in range(len(shape)) if (k, i) in fixed]:
                shape[axis] = Pinned(fixed[k, axis])
            for axis in [i for i, d in enumerate(shape) if d is None]:
                axes[name(k, axis)] = max(axis, axes.get(name(k, axis), 0))
                shape[axis] = Open(list(axes).index(name(k, axis)))
            shapes.append(shape)
        if shapes not in seen:
            seen.append(shapes)
            yield shapes, list(axes.values())


def _columns(bodies: Sequence[Body], which: str) -> Iterator[tuple[Any, ...]]:
    return zip(*[getattr(body, which) for body in bodies], strict=True)


def _value(node: Any) -> np.ndarray:
    engine.value(node)
    return to_numpy(node)


def _leaf_of(spec: TensorSpec, shape: Sequence[Any]) -> Any:
    kinds = {Open: "open", Pinned: "fixed"}
    return {"tensor": [spec.dtype.name, [{kinds[type(n)]: int(n)} if type(n) in kinds else n for n in shape], spec.name]}


def _stated(spec: TensorSpec) -> Any:
    return {"tensor": [spec.dtype.name, None if spec.shape.rank is None else spec.shape.as_list(), spec.name]}


def _literal(value: Any) -> Any:
    """Return the arguments that are no tensors, without objects that are a parameter's default."""
    try:
        return {"value": plain(value)}
    except Unsaveable:
        return "object"
