"""Traced functions as JSON data: arguments and results, the Program, and its captures."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.as_python import line_of
from gradtape._src.control.concrete import ConcreteFunction
from gradtape._src.control.function import Function
from gradtape._src.core.base.errors import InvalidArgumentError, NeedsValues, OpError
from gradtape._src.core.declarations.spec import TensorSpec, TypeSpec
from gradtape._src.core.engine import engine
from gradtape._src.core.tensors.tensor import Tensor, to_numpy
from gradtape._src.core.tensors.variable import Variable
from gradtape._src.core.values.dim import Atom, Dim
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.core.values.ways import Path
from gradtape._src.ops.random.seeds import Shared
from gradtape._src.train.saved_model.encoding import Unsaveable, nest_data, plain
from gradtape._src.train.saved_model.extents import encoded, example
from gradtape._src.train.saved_model.writing import Writer, where

logger = logging.getLogger("gradtape")

RANKS = range(5)  # tried for a tensor of open rank, if no call determines the ranks
REFUSALS = (ValueError, TypeError, IndexError, InvalidArgumentError)  # errors of code that does not support a shape
LAST = object()  # marks a result that is a tensor


class Place(int):
    """The number of a tensor among the arguments."""


class Tracer:
    """A writer of functions. `number_of` returns the number of a variable's object, and raises for an untracked variable."""

    def __init__(self, writer: Writer, number_of: Callable[[Variable, ConcreteFunction], int]) -> None:
        self._writer, self._number_of = writer, number_of
        self._fresh: dict[int, tuple[Function, Function]] = {}

    def function(self, function: Function, concretes: Sequence[ConcreteFunction] | None = None) -> dict[str, Any]:
        """Convert a function to JSON data, with each signature that it was traced for, or with the given traces.

        A function with an input signature is traced.
        """
        if concretes is None:
            of = function if function.input_signature is None else self._untraced(function)
            found = [trace for c in of.all_concrete_functions() for trace in self._saveable(c, function)]
        else:
            found = [trace for c in concretes for trace in self._of_ranks(c, function)]
        parameters = [
            [p.name, int(p.kind), None if p.default is p.empty else nest_data(p.default, _default)]
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
        """Return a copy of a function without traces, so that tracing for a save does not change the user's function."""
        return self._fresh.setdefault(id(function), (function, function.untraced()))[1]

    def _saveable(self, concrete: ConcreteFunction, function: Function) -> list[dict[str, Any]]:
        """Return the traces of a signature; none if an argument is an object, which no call of a loaded function could pass."""
        try:
            nest_data(_placed(concrete), lambda x: type(x) is Place or plain(x))
        except Unsaveable as error:
            logger.warning("A trace of %s is not saved, because of an argument: %s.", concrete._function._name, error)
            return []
        return self._of_ranks(concrete, function)

    def _of_ranks(self, concrete: ConcreteFunction, function: Function) -> list[dict[str, Any]]:
        """Return the traces of a signature: one, or with open ranks one for each rank that was called or is supported."""
        if all(spec.shape.rank is not None for spec in concrete._input_specs()):
            return [self.trace(concrete)]
        found: list[dict[str, Any]] = []
        refused: Exception | None = None
        called = _ranks_of_calls(function, concrete._input_specs())
        for ranks in called or [(rank,) * len(concrete._input_specs()) for rank in RANKS]:
            specs = [_of_rank(spec, rank) for spec, rank in zip(concrete._input_specs(), ranks, strict=True)]
            ranked = concrete.seen_through(specs)
            ranked.name_inputs(concrete._named)
            try:
                found.append(self.trace(ranked))
            except REFUSALS as error:
                if called:
                    raise
                refused = refused or error
        if not found:
            raise ValueError(
                f"The function {concrete._function._name!r} cannot be saved for {concrete._input_specs()}, whose rank is open, "
                f"with any rank from 0 to 4. State the shape in the TensorSpec, or call the function before: {refused}"
            ) from refused
        return found

    def trace(self, concrete: ConcreteFunction) -> dict[str, Any]:
        """Convert a traced function to JSON data; errors say why it cannot be saved, and at which line."""
        specs = concrete._input_specs()
        try:
            if all(spec.shape.is_fully_defined() for spec in specs):
                ways = [self._way(concrete.of_specs(specs), Path(()), {})]
            else:
                ways = self._open_ways(concrete, [spec.shape for spec in specs])
        except Unsaveable as error:
            raise ValueError(f"The function {concrete._function._name!r} cannot be saved: {error}") from None
        numbers = itertools.count()
        leaves = [_leaf_of(spec, [next(numbers) if d is None else None for d in spec.shape.as_list()]) for spec in specs]
        return {
            "arguments": nest_data(_placed(concrete), lambda x: leaves[x] if type(x) is Place else _literal(x)),
            "names": concrete._named,
            "ways": ways,
        }

    def _open_ways(self, concrete: ConcreteFunction, shapes: Sequence[TensorShape]) -> list[dict[str, Any]]:
        """Return the function on open extents: on the way that needs no call, and on the ways of its calls."""
        function = self._untraced(concrete._function)
        try:
            traces = function.open_traces(concrete._arguments, shapes)
        except NeedsValues as reason:
            raise self._runs_eagerly(function, reason) from None
        except (OpError, ValueError, TypeError) as error:
            raise ValueError(
                f"The function {function._name!r} cannot be traced for the open extents of {concrete._input_specs()}: {error}"
                f"{where(line_of(error))} State those extents in the TensorSpec, or compute with tf.shape of the tensor and not "
                "with Python numbers."
            ) from error
        return [self._way(t, t._traced.way or Path(()), {s: n for n, s in enumerate(_symbols(t))}) for t in traces]

    @staticmethod
    def _runs_eagerly(function: Function, reason: Exception) -> NotImplementedError:
        return NotImplementedError(
            f"The function {function._name!r} cannot be saved: it runs as eager code, because {reason}. Only what is traced to "
            "one program can be saved."
        )

    def _way(self, concrete: ConcreteFunction, way: Path, numbers: Mapping[Atom, int]) -> dict[str, Any]:
        """Return a function on one way, with the given numbers of its symbols."""
        name = concrete._function._name
        if concrete.strategy.reason is not None:
            raise self._runs_eagerly(concrete._function, concrete.strategy.reason)
        if concrete._traced.takes:
            raise NotImplementedError(
                f"The function {name!r} cannot be saved: it takes elements from an iterator, which is no part of a saved model. "
                "Let it take tensors, and its caller the elements."
            )
        body = concrete._traced
        results = body.structure.fill([LAST] * (len(body.avals) - len(body.written)))
        return {
            "conditions": [[relation, encoded(d, numbers), answer] for relation, d, answer in way.conditions],
            "point": example(way, list(numbers)),
            "results": nest_data(results, self._result),
            "program": self._writer.program(body.program, numbers),
            "variables": [self._number_of(v, concrete) for v in body.variables],
            "written": [self._number_of(v, concrete) for v in body.written],
            "captures": [self._writer.stored(_value(node)) for node in body.captures],
            "draws": [self._draw(stream, numbers) for stream in body.draws],
            "trains": body.trains,
        }

    def _result(self, value: Any) -> Any:
        if value is LAST:
            return "tensor"
        if isinstance(value, Tensor):
            return {"constant": self._writer.stored(to_numpy(value.node))}
        return {"value": plain(value)}

    def _draw(self, stream: Any, numbers: Mapping[Atom, int]) -> Any:
        begun = stream.stream if isinstance(stream, Shared) else stream
        return self._writer.attribute((begun.seed, begun.own, stream.blocks, begun.repeated), numbers)


def _symbols(concrete: ConcreteFunction) -> list[Atom]:
    return [d.symbol for node in concrete._arguments.nodes for d in node.aval.shape if type(d) is Dim]


def _ranks_of_calls(function: Function, specs: Sequence[TensorSpec]) -> list[tuple[int, ...]]:
    """Return the ranks of the tensors in calls of a function that match these specs."""
    found = set()
    for concrete in function._traced.values():
        known = [node.aval for node in concrete._arguments.nodes]
        fits = len(known) == len(specs) and any(a.shape for a in known)
        if fits and all(a.type == s.dtype and s.shape.is_compatible_with(a.shape) for a, s in zip(known, specs, strict=True)):
            found.add(tuple([a.ndim for a in known]))
    return sorted(found)


def _of_rank(spec: TensorSpec, rank: int) -> TensorSpec:
    return spec if spec.shape.rank is not None else TensorSpec([None] * rank, spec.dtype, spec.name)


def _value(node: Any) -> np.ndarray:
    engine.value(node)
    return to_numpy(node)


def _leaf_of(spec: TensorSpec, numbers: Sequence[int | None]) -> Any:
    shape = [extent if n is None else {"open": n} for extent, n in zip(spec.shape, numbers, strict=True)]
    return {"tensor": [spec.dtype.name, shape, spec.name]}


def _placed(concrete: ConcreteFunction) -> Any:
    """Return the arguments with the number of each tensor in its place."""
    return concrete._arguments.fill(map(Place, range(len(concrete._input_specs()))))


def _stated(spec: TypeSpec) -> Any:
    if not isinstance(spec, TensorSpec):
        return {type(spec).__name__: [*map(plain, spec._serialize())]}
    return {"tensor": [spec.dtype.name, None if spec.shape.rank is None else spec.shape.as_list(), spec.name]}


def _default(value: Any) -> Any:
    """Convert the default of a parameter, or a part of it, which may be an array of numbers."""
    if isinstance(value, (Tensor, np.ndarray)):
        array = to_numpy(value.node) if isinstance(value, Tensor) else value
        if array.dtype.kind in "biufc":
            return {
                "array": [as_dtype(array.dtype).name, list(array.shape), [plain(number) for number in array.ravel().tolist()]]
            }
    return _literal(value)


def _literal(value: Any) -> Any:
    """Convert the arguments that are no tensors, except objects that are a parameter's default."""
    try:
        return {"value": plain(value)}
    except Unsaveable:
        return "object"
