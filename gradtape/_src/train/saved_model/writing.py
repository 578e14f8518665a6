"""Programs as JSON data. Open extents are numbered symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gradtape._src.autodiff.custom import CLOSED, Again, Closed
from gradtape._src.core.engine.tracing import FORWARD
from gradtape._src.core.platform.places import place
from gradtape._src.core.programs.journal import file_and_number
from gradtape._src.core.programs.op import Op, ops
from gradtape._src.core.programs.program import RAN, Line, Program
from gradtape._src.core.programs.structured import arity
from gradtape._src.core.programs.traits import Trait
from gradtape._src.core.values.aval import Aval
from gradtape._src.core.values.dim import Atom, Dim
from gradtape._src.core.values.dtypes import as_dtype
from gradtape._src.ops.array.shape import _identity
from gradtape._src.ops.debugging.printing import PRINT
from gradtape._src.train.saved_model.encoding import Unsaveable, plain
from gradtape._src.train.saved_model.extents import encoded

MOST_ORDERS = 4  # further orders that are saved of a gradient function that uses its own function


class Writer:
    """The tables of Programs and of their arrays during a save."""

    def __init__(self) -> None:
        self.programs: list[dict[str, Any]] = []
        self.arrays: dict[str, np.ndarray] = {}
        self._known: dict[Any, int] = {}
        self._orders = 0  # nesting of gradient functions that use their own function
        self._stored: dict[Any, str] = {}

    def program(self, program: Program, numbers: Mapping[Atom, int]) -> int:
        """Add a Program, whose symbols have the given numbers, and return its own number."""
        key = program, tuple(numbers)
        if key in self._known:
            return self._known[key]
        nodes = []
        for index in range(len(program.keys)):
            try:
                nodes.append(self._node(program, index, numbers))
            except Unsaveable as error:
                raise Unsaveable(f"{error}{where(program.lines[index] if program.lines else (None, 0))}") from None
        entry: dict[str, Any] = {
            "parameters": [_aval(a, numbers) for a in program.parameters[: arity(program)]],
            "nodes": nodes,
            "outputs": list(program.outputs),
            "constants": [self.stored(np.asarray(c)) for c in program.constants],
        }
        if FORWARD in program.derived:
            entry["forward"] = self.program(program.derived[FORWARD], numbers)
        self._known[key] = len(self.programs)
        self.programs.append(entry)
        return self._known[key]

    def _node(self, program: Program, index: int, numbers: Mapping[Atom, int]) -> dict[str, Any]:
        op, attrs, *references = program.keys[index]
        if op is RAN or Trait.HOLDS_CODE in op.traits:
            raise Unsaveable(f"{op.type} calls a Python function, which is no data: write it with tf.* functions")
        if op is PRINT and isinstance(attrs[op.attributes.index("stream")], str):
            raise Unsaveable("tf.print writes to a file, which a saved model may not: print to sys.stdout or sys.stderr")
        if Trait.PLACES in op.traits:  # placement depends on the machine, not on the model
            op, attrs = _identity.op, ()
        again = op is CLOSED and isinstance(attrs[1], Again)
        if again:
            attrs, references = self._finite(program, Closed(*attrs), references)
        node: dict[str, Any] = {"op": self.op(op), "inputs": references, "gives": _avals(program.avals[index], numbers)}
        self._orders += again
        if attrs:
            try:
                node["attributes"] = [self.attribute(value, numbers) for value in attrs]
            except Unsaveable as error:
                raise Unsaveable(f"{op.type} has an attribute that cannot be saved: {error}") from None
        self._orders -= again
        return node

    def _finite(self, program: Program, closed: Closed, references: list[int]) -> tuple[Closed, list[int]]:
        """Expand a gradient function that uses its own function to the Program of one more order, with its inputs.

        After `MOST_ORDERS` orders an error replaces it.
        """
        first = references[: len(closed.where)]
        if self._orders == MOST_ORDERS:
            seeds = tuple([program.aval_of(r) for r in first[: closed.results]])
            error = NotImplementedError(
                f"A saved model keeps {MOST_ORDERS + 1} orders of a tf.custom_gradient whose gradient function uses its own "
                "function. Save a function that takes the derivative, too: its result has so many orders again."
            )
            return closed._replace(program=Program((), (), seeds, ()), raising=error), first
        made, where, raising, taken = closed.traced(references)
        if not all(isinstance(r, int) for r in taken):
            raise Unsaveable("a gradient function that uses its own function, and tensors from outside of a function")
        return closed._replace(program=made, where=where, raising=raising), [*first, *taken]

    def op(self, op: Op) -> Any:
        """Return the name of an op, with the name of its gradient if that is overridden, and with the checks it makes."""
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

    def attribute(self, value: Any, numbers: Mapping[Atom, int]) -> Any:
        """Return an attribute as JSON data."""
        if isinstance(value, Program):
            return {"program": self.program(value, numbers)}
        if isinstance(value, Op):
            return {"op": self.op(value)}
        if isinstance(value, tuple):
            return [self.attribute(item, numbers) for item in value]
        return encoded(value, numbers) if type(value) is Dim else plain(value)

    def stored(self, array: np.ndarray) -> str:
        """Store an array, and return its key; equal arrays are stored once."""
        content = tuple(array.ravel()) if array.dtype.kind == "O" else array.tobytes()
        key = (as_dtype(array.dtype).name, array.shape, content)
        if key not in self._stored:
            self._stored[key] = f"constant_{len(self._stored)}"
            self.arrays[self._stored[key]] = array
        return self._stored[key]


def _aval(of: Aval, numbers: Mapping[Atom, int]) -> Any:
    return [of.type.name, [encoded(extent, numbers) for extent in of.shape]]


def _avals(of: Any, numbers: Mapping[Atom, int]) -> Any:
    """Convert an Aval, or the Avals of several results, to JSON data."""
    return {"each": [_avals(one, numbers) for one in of]} if type(of) is tuple else _aval(of, numbers)


def where(line: Line) -> str:
    """Format a line as the end of a message."""
    file, number = file_and_number(line)
    return "" if file is None else f" [{place(file, number, short=True)}]"
