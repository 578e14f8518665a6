"""The names of tensors in functions, of arguments and of ops, numbered as in TensorFlow. They are computed on request."""

from __future__ import annotations

import dis
from typing import Any

from gradtape._src.core.base.naming import Numbered
from gradtape._src.core.programs.op import Op
from gradtape._src.core.programs.program import ELEMENT, INSIDE, Node, Trace, producer

# Op types of a graph's inputs. A function lists them, but has no such ops.
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
    """Return the names of the first `count` nodes of a function's trace: the user's or TensorFlow's defaults, with name scopes.

    The trace's `names` has both. A name scope has no nodes there: an empty tuple if it was entered before, else an empty list.
    """
    numbered, found = Numbered(), []
    given = {producer(node): name for _, name, nodes in trace.names for node in nodes}
    scopes = iter([(position, name, nodes == ()) for position, name, nodes in trace.names if not nodes])
    entered, opened = next(scopes, None), [("", "")]  # pairs of a scope's given and numbered name
    latest: dict[str, str] = {}
    for index, node in enumerate(trace.nodes[:count]):
        while entered is not None and entered[0] <= index:
            _enter(opened, entered[1], latest if entered[2] else {}, numbered)
            latest[opened[-1][0]] = opened[-1][1]
            entered = next(scopes, None)
        written, prefix = opened[-1]
        name = given.get(node, "")
        name = name.removeprefix(written) if name.startswith(written) else ""  # a layer's name is that of a scope
        name = name or default_name(node.op, node.code, node.offset)
        found.append("" if node.op is ELEMENT else numbered(prefix + name))
    return found


def _enter(opened: list[tuple[str, str]], to: str, known: dict[str, str], numbered: Numbered) -> None:
    """Enter the scope `to`: return to an open one, reopen a `known` one under its number, or open a new one."""
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


def default_name(op: Op, code: Any, offset: int) -> str:
    """Return the default name of an op recorded at `offset` of the user's `code`; it differs for a Python operator."""
    if op.operator is not None and code is not None:
        instruction = dis.opname[code.co_code[offset]]
        if instruction.startswith(("BINARY", "UNARY", "COMPARE")):
            return op.operator
    return op.default_name or op.type
