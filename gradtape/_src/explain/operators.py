"""The operators of Python that record an op, by its type."""

from __future__ import annotations

import ast

from gradtape._src.ops.math.arithmetic import realdiv
from gradtape._src.ops.math.compare import EQUAL, NOT_EQUAL, greater, greater_equal, less, less_equal
from gradtape._src.ops.math.elementary import _pow
from gradtape._src.ops.math.rounding import floordiv

OPERATORS = {
    greater.op.type: ast.Gt, greater_equal.op.type: ast.GtE, less.op.type: ast.Lt, less_equal.op.type: ast.LtE,
    EQUAL.type: ast.Eq, NOT_EQUAL.type: ast.NotEq, realdiv.op.type: ast.Div, floordiv.op.type: ast.FloorDiv,
    _pow.op.type: ast.Pow,
}  # fmt: skip
