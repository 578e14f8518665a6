"""Branches and loops with results whose shapes depend on values, which a graph runs op by op like eager code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import Attributes, Op
from gradtape._src.core.programs.program import Node, Program, memoized
from gradtape._src.core.programs.structured import StructuredOp
from gradtape._src.core.tensors.tensor import handle, to_numpy
from gradtape._src.core.values.aval import changes
from gradtape._src.core.values.dim import is_unknown
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.shape import zeros
from gradtape._src.v1.graphs.kinds import BY_VALUES, LATE


class NeedsEager(Exception):
    """A trace has met a shape that depends on values."""


class Outputs(list[Node]):
    """The outputs of an op with several outputs."""


class NodeRows(list[Node]):
    """The rows of a loop's residual, with different shapes."""


@memoized
def is_open(program: Program) -> bool:
    """Return whether a Program cannot be compiled as recorded: it has unknown extents, or an op that needs values."""
    avals = [a for of in program.avals for a in (of if type(of) is tuple else (of,))]
    if any(map(changes, (*avals, *program.parameters))) or any(key[0] in BY_VALUES or key[0] is LATE for key in program.keys):
        return True
    return any(is_open(inner) for op, attrs, *_ in program.keys for inner in op.programs(attrs))


def only_in_graphs(program: Program) -> bool:
    """Return whether a Program with parameters of known shapes has results whose shapes are known only when a graph runs it."""
    return is_open(program) and not any(map(changes, program.parameters))


def of_one_shape(op: Op, attrs: Attributes, avals: Sequence[Any]) -> bool:
    """Return whether all branches of an op have the same result shapes, and loops keep the shapes of their carry."""
    given: dict[int, Any] = {}
    for program, takes, gives, _, carried in op.bodies(attrs) if isinstance(op, StructuredOp) else ():
        results = [program.aval_of(r) for r in program.outputs]
        if any(results[k] != given.setdefault(result, results[k]) for k, result in gives.items()):
            return False
        if gives and any(results[k] != avals[takes[p]] for p, k in carried.items()):
            return False
    return True


class Live:
    """The Interpreter of a session that runs op by op. Values are nodes recorded by `replay`, with their actual shapes."""

    residuals = True

    def __init__(self, replay: Any) -> None:
        self._replay = replay

    def call(self, program: Program, inputs: Sequence[Node]) -> Sequence[Node]:
        """Record the ops of a body."""
        nodes: Sequence[Node] = self._replay.inlined(program, inputs)
        return nodes

    def holds(self, program: Program, inputs: Sequence[Node]) -> bool:
        """Record a condition and return its value."""
        return bool(self.number(self.call(program, inputs)[0]))

    def number(self, value: Node) -> Any:
        """Return the value of a scalar."""
        return to_numpy(value).item()

    def extent(self, value: Node | NodeRows) -> int:
        """Return the number of rows of a value."""
        return len(value) if isinstance(value, NodeRows) else int(value.aval.shape[0])

    def row(self, value: Node | NodeRows, at: int) -> Node:
        """Record an op that reads a row."""
        if isinstance(value, NodeRows):
            return value[at]
        row: Node = handle(value)[at].node
        return row

    def stacked(self, rows: Sequence[Node], of: Any, count: int) -> Node | NodeRows:
        """Record an op that stacks all rows. Rows of different shapes are kept as NodeRows."""
        if len({row.aval for row in rows}) > 1:
            return NodeRows(rows)
        if not rows:
            extents = [0 if is_unknown(e) else e for e in of.shape] if of.ranked else []
            return zeros((0, *extents), of.type).node
        made: Node = stack([handle(row) for row in rows]).node
        return made

    def constant(self, number: int) -> Node:
        """Return an int64 scalar constant."""
        return engine.constant(np.array(number, np.int64))


def in_python(replay: Any, op: Op, attrs: Attributes, inputs: Sequence[Node]) -> Outputs:
    """Run a branch, loop or call in Python; `replay` records each op in it."""
    if not isinstance(op, StructuredOp):
        raise NotImplementedError(f"{op.type} has results whose shapes depend on values.")
    return Outputs(op.interpret(Live(replay), attrs, inputs))
