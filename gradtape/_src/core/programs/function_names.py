"""The names that tensors of functions have: of arguments, and of ops as TensorFlow counts them up. Found when asked for."""

from __future__ import annotations

import dis
from typing import Any

from gradtape._src.core.base.naming import Numbered
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT, INSIDE, Node, Trace

# Types of what feeds a graph: a function shows them, and has no ops of them.
PLACEHOLDER, CONST, NO_OP, VARIABLE = "Placeholder", "Const", "NoOp", "VarHandleOp"


def in_function(node: Node) -> bool:
    """Return whether a tensor was made while a function was traced."""
    return node.index == INSIDE or (node.trace is not None and node.trace.parent is not None)


def name_in_function(node: Node) -> str:
    """Return the name of a tensor of a function under trace, or after it."""
    if node.trace is None:
        if not node.attrs:
            return "x:0" if node.value is None else "Const:0"
        numbered, name = Numbered(), ""
        names, place = node.attrs
        for taken in names[: place + 1]:
            name = numbered(taken)
        return f"{name}:0"
    output = 0
    if node.op is ELEMENT:
        output, (node,) = node.attrs[0], node.inputs
    return f"{operation_names(node.trace, node.index + 1)[-1]}:{output}"


def operation_names(trace: Trace, count: int) -> list[str]:
    """Return the names of the first nodes of a function's trace: those that the user gave, or TensorFlow's defaults, each within
    the name scopes that were open. The trace's `names` tell of both: a scope has no nodes, and a tuple of them if it is one that
    was entered before.
    """
    numbered, found = Numbered(), []
    given = {_producer(node): name for _, name, nodes in trace.names for node in nodes}
    scopes = iter([(position, name, nodes == ()) for position, name, nodes in trace.names if not nodes])
    entered, opened = next(scopes, None), [("", "")]  # the scopes as they are written, and as they are numbered
    latest: dict[str, str] = {}
    for index, node in enumerate(trace.nodes[:count]):
        while entered is not None and entered[0] <= index:
            _enter(opened, entered[1], latest if entered[2] else {}, numbered)
            latest[opened[-1][0]] = opened[-1][1]
            entered = next(scopes, None)
        written, prefix = opened[-1]
        name = given.get(node, "")
        name = name.removeprefix(written) if name.startswith(written) else ""  # that of a layer is the name of a scope
        name = name or default_name(node.op, node.code, node.offset)
        found.append("" if node.op is ELEMENT else numbered(prefix + name))
    return found


def _enter(opened: list[tuple[str, str]], to: str, known: dict[str, str], numbered: Numbered) -> None:
    """Enter the scope `to`, go back to it, or enter it again as it is `known`."""
    place = next((at for at, (written, _) in enumerate(opened) if written == to), None)
    if place is not None:
        del opened[place + 1 :]
    elif to in known:
        opened.append((to, known[to]))
    elif to.startswith(opened[-1][0]):
        written, prefix = opened[-1]
        opened.append((to, numbered(prefix + to.removeprefix(written).rstrip("/")) + "/"))
    else:
        opened.append((to, to))


def _producer(node: Node) -> Node:
    return node.inputs[0] if node.op is ELEMENT else node


def default_name(op: Op, code: Any, offset: int) -> str:
    """Return the name of an op that the user's `code` records at `offset`: an operator's is not that of the function."""
    if op.operator is not None and code is not None:
        instruction = dis.opname[code.co_code[offset]]
        if instruction.startswith(("BINARY", "UNARY", "COMPARE")):
            return op.operator
    return op.default_name or op.type
