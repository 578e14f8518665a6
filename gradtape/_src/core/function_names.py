"""The names that tensors of functions have: of arguments, and of ops as TensorFlow counts them up. Found when asked for."""

from __future__ import annotations

import dis
from typing import Any

from gradtape._src.core.naming import Numbered
from gradtape._src.core.program import ELEMENT, INSIDE, Node

# How TensorFlow names what operators record.
OPERATORS = {
    "AddV2": "add",
    "BatchMatMulV2": "matmul",
    "FloorDiv": "floordiv",
    "FloorMod": "mod",
    "MatMul": "matmul",
    "Mul": "mul",
    "Pow": "pow",
    "RealDiv": "truediv",
    "StridedSlice": "strided_slice",
    "Sub": "sub",
}
DEFAULTS = {"AddV2": "Add"}  # and what functions record, where it is not the type's name


def in_function(node: Node) -> bool:
    """Return whether a tensor was made while a function was traced."""
    return node.index == INSIDE or (node.trace is not None and node.trace.parent is not None)


def name_in_function(node: Node) -> str:
    """Return the name of a tensor of a function under trace, or after it."""
    numbered, name, output = Numbered(), "", 0
    if node.trace is None:
        if not node.attrs:
            return "x:0" if node.value is None else "Const:0"
        names, place = node.attrs
        for taken in names[: place + 1]:
            name = numbered(taken)
        return f"{name}:0"
    if node.op is ELEMENT:
        output, (node,) = node.attrs[0], node.inputs
    for recorded in node.trace.nodes[: node.index + 1]:
        if recorded.op is not ELEMENT:
            name = numbered(default_name(recorded.op.type, recorded.code, recorded.offset))
    return f"{name}:{output}"


def default_name(kind: str, code: Any, offset: int) -> str:
    """Return the name of an op that the user's `code` records at `offset`: an operator's is not that of the function."""
    if kind in OPERATORS and code is not None:
        instruction = dis.opname[code.co_code[offset]]
        if instruction.startswith(("BINARY", "UNARY", "COMPARE")):
            return OPERATORS[kind]
    return DEFAULTS.get(kind, kind)
