"""Programs as JSON data. One that depends on open extents is written from its traces at several points at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.aval import Aval
from gradtape._src.core.dtypes import as_dtype
from gradtape._src.core.journal import file_and_number
from gradtape._src.core.op import Op, ops
from gradtape._src.core.places import place
from gradtape._src.core.program import RAN, Line, Program
from gradtape._src.core.tracing import FORWARD
from gradtape._src.train.saved_model.encoding import Unsaveable, avals, plain
from gradtape._src.train.saved_model.extents import Point, fit

PYTHON = frozenset(("PyFunc", "EagerPyFunc", "JaxFunction", "JaxFunctionGradient"))
MOST_FORMULAS = 64  # a constant of so many elements may have a formula for each


class Varies(Exception):
    """Raised where traces for several extents differ in what no formula gives."""


class Writer:
    """The table of Programs, and the arrays that they hold, as they are written."""

    def __init__(self) -> None:
        self.programs: list[dict[str, Any]] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._known: dict[Any, int] = {}
        self._keep: list[Any] = []  # what is in _known must keep its id
        self._stored: dict[Any, str] = {}

    def program(self, samples: Sequence[Program], points: Sequence[Point]) -> int:
        """Enter a Program that was traced at each of `points`, and return its number."""
        key = (tuple(map(id, samples)), tuple(points))
        if key in self._known:
            return self._known[key]
        first = samples[0]
        if any(len(p.keys) != len(first.keys) or p.outputs != first.outputs for p in samples):
            raise Varies("it has other operations" + _where(_first_difference(samples)))
        nodes = []
        for index in range(len(first.keys)):
            line = first.lines[index] if first.lines else (None, 0)
            try:
                nodes.append(self._node(samples, index, points))
            except (Unsaveable, Varies) as error:
                raise type(error)(f"{error}{_where(line)}") from None
        count = len(first.parameters) - len(first.constants)
        entry: dict[str, Any] = {
            "parameters": [_parameter(column, points) for column in zip(*[p.parameters[:count] for p in samples], strict=True)],
            "nodes": nodes,
            "outputs": list(first.outputs),
            "constants": [self.constant(column, points) for column in zip(*[p.constants for p in samples], strict=True)],
        }
        behind = [p.derived[FORWARD] for p in samples if FORWARD in p.derived]
        if len(behind) == len(samples):
            entry["forward"] = self.program(behind, points)
        self._known[key] = len(self.programs)
        self._keep.append(samples)
        self.programs.append(entry)
        return self._known[key]

    def _node(self, samples: Sequence[Program], index: int, points: Sequence[Point]) -> dict[str, Any]:
        keys = [p.keys[index] for p in samples]
        op, attrs, *references = keys[0]
        for other, others, *elsewhere in keys[1:]:
            if other is not op or elsewhere != references or len(others) != len(attrs):
                raise Varies(f"{op.type} is another operation")
        if op is RAN or op.type in PYTHON:
            raise Unsaveable(f"{op.type} calls a Python function, which is no data: write it with tf.* functions")
        if op.type == "PrintV2" and isinstance(attrs[op.attributes.index("stream")], str):
            raise Unsaveable("tf.print writes to a file, which a saved model may not: print to sys.stdout or sys.stderr")
        if op.type == "ShardingConstraint":  # where a value lies is the machine's, not the model's
            op, attrs = ops["Identity"], ()
        node: dict[str, Any] = {"op": self.op(op), "inputs": references, "gives": avals(samples[0].avals[index])}
        if attrs:
            try:
                columns = zip(*[key[1] for key in keys], strict=True)
                node["attributes"] = [self.attribute(column, points) for column in columns]
            except Unsaveable as error:
                raise Unsaveable(f"{op.type} has an attribute that cannot be saved: {error}") from None
            except Varies as error:
                raise Varies(f"{op.type}: {error}") from None
        return node

    def op(self, op: Op) -> Any:
        """Return the name of an op; with the name of its gradient where that is an override, and with which checks it makes."""
        if op.guards:
            return {op.guards: self.op(op.plain)}
        if op.on_host:
            raise Unsaveable(f"{op.type} runs on the host: it is no part of a saved model")
        if ops.get(op.type) is op:
            return op.type
        names = [name for name, derived in ops[op.type].derived.items() if derived is op] if op.type in ops else []
        if not names:
            raise Unsaveable(f"{op.type} is no op of the registry")
        return [op.type, names[0]]

    def attribute(self, values: Sequence[Any], points: Sequence[Point]) -> Any:
        """Return an attribute, whose value is known at each of `points`, as JSON data."""
        first = values[0]
        kinds = {type(v) for v in values}
        if kinds == {Program}:
            return {"program": self.program(values, points)}
        if kinds == {Op}:
            return {"op": self.op(first)}
        if kinds == {tuple}:
            if len({len(v) for v in values}) > 1:
                raise Varies(f"an attribute is {first!r} or {values[-1]!r}")
            return [self.attribute(column, points) for column in zip(*values, strict=True)]
        if all(v is first or v == first for v in values):
            return plain(first)
        if kinds == {int}:
            return _formula(values, points)
        raise Varies(f"an attribute is {first!r} or {values[-1]!r}")

    def constant(self, values: Sequence[Any], points: Sequence[Point]) -> Any:
        """Return a constant as JSON data: the key of an array, or formulas for what depends on extents."""
        arrays = [np.asarray(v) for v in values]
        first = arrays[0]
        if any(a.dtype != first.dtype or a.ndim != first.ndim for a in arrays):
            raise Varies("a constant has another dtype or rank")
        if len(arrays) == 1 or all(a.shape == first.shape and a.tobytes() == first.tobytes() for a in arrays):
            return self.stored(first)
        name = as_dtype(first.dtype).name
        if all(a.shape == first.shape for a in arrays) and first.size <= MOST_FORMULAS:
            columns = zip(*[_whole(a) for a in arrays], strict=True)
            return {"dtype": name, "shape": list(first.shape), "values": [_formula(c, points) for c in columns]}
        shape = [_formula(column, points) for column in zip(*[a.shape for a in arrays], strict=True)]
        if not all(a.size for a in arrays):
            raise Varies("a constant has another shape")
        start = [_whole(a)[0] for a in arrays]
        step = [_whole(a)[1] - at if a.ndim == 1 and a.size > 1 else 0 for a, at in zip(arrays, start, strict=True)]
        for array, at, by in zip(arrays, start, step, strict=True):
            if not (array.ravel() == (at + by * np.arange(array.size)).astype(array.dtype)).all():
                raise Varies("a constant has another length, and is no range of whole numbers")
        return {"dtype": name, "shape": shape, "start": _formula(start, points), "step": _formula(step, points)}

    def stored(self, array: np.ndarray) -> str:
        """Enter an array, and return its key; equal arrays are stored once."""
        content = tuple(array.ravel()) if array.dtype.kind == "O" else array.tobytes()
        key = (as_dtype(array.dtype).name, array.shape, content)
        if key not in self._stored:
            self._stored[key] = f"constant_{len(self._stored)}"
            self.arrays[self._stored[key]] = array
        return self._stored[key]


def _parameter(known: Sequence[Aval], points: Sequence[Point]) -> Any:
    if len({a.ndim for a in known}) > 1:
        raise Varies("a value has another rank")
    return [known[0].type.name, [_formula(column, points) for column in zip(*[a.shape for a in known], strict=True)]]


def _whole(array: np.ndarray) -> list[int]:
    """Return the elements of an array, if they are whole numbers."""
    if array.dtype.kind in "bcO":
        raise Varies(f"a constant of dtype {array.dtype.name} has other values")
    values = [float(v) for v in array.ravel()[: 2 * MOST_FORMULAS]]
    if not all(v.is_integer() and abs(v) < 1 << 53 for v in values):
        raise Varies("a constant has other values, which are no whole numbers")
    return [int(v) for v in values]


def _formula(values: Sequence[int], points: Sequence[Point]) -> Any:
    if len(set(values)) == 1:
        return int(values[0])
    found = fit(points, values)
    if found is None:
        pairs = ", ".join(f"{v} for {list(p)}" for v, p in zip(values, points, strict=True))
        raise Varies(f"no polynomial of degree 2 of the open extents, nor their products, gives a number that is {pairs}")
    return found.encoded()


def _first_difference(samples: Sequence[Program]) -> Line:
    """Return the line of the first operation that not all of these Programs have."""
    first = samples[0]
    for other in samples[1:]:
        for index, (one, two) in enumerate(zip(first.keys, other.keys, strict=False)):
            if one[0] is not two[0] and first.lines:
                return first.lines[index]
    return None, 0


def _where(line: Line) -> str:
    """Return the file and number of a line, as the end of a message."""
    file, number = file_and_number(line)
    return "" if file is None else f" [{place(file, number, short=True)}]"
