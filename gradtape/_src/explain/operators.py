"""Python's operators that record an op."""

from __future__ import annotations

import ast

from gradtape._src.core.programs.op import ops
from gradtape._src.ops.math.compare import EQUAL, NOT_EQUAL, greater, greater_equal, less, less_equal

ARITHMETIC: dict[str | None, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod,
    "pow": ast.Pow, "matmul": ast.MatMult,
}  # fmt: skip
COMPARISONS: dict[str, type[ast.cmpop]] = {
    greater.op.type: ast.Gt, greater_equal.op.type: ast.GtE, less.op.type: ast.Lt, less_equal.op.type: ast.LtE,
    EQUAL.type: ast.Eq, NOT_EQUAL.type: ast.NotEq,
}  # fmt: skip


def is_written(op: str, operator: ast.operator | ast.cmpop) -> bool:
    """Return whether an op of a type is written with an operator."""
    known = ops.get(op)
    kind = COMPARISONS.get(op) or ARITHMETIC.get(None if known is None else known.operator)
    return kind is not None and isinstance(operator, kind)
