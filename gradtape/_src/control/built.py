"""Programs of functions of tensors that call Programs and loops, and calls of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradtape._src.control.scope import Scope, trace
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.programs.program import Program, leaf
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor


def built(function: Callable[..., Sequence[Tensor]], parameters: Sequence[Any]) -> Program:
    """Return the Program of a function of tensors, which calls Programs and loops, for parameters of these Avals."""
    leaves = [leaf(a, None) for a in parameters]
    body = trace(lambda: list(function(*map(EagerTensor, leaves))), leaves, Scope(True, creates=False))
    made = body.program
    constants = (*[np.asarray(engine.value(node)) for node in body.captures], *made.constants)  # large ones are captures
    made = Program(made.keys, made.avals, made.parameters, made.outputs, constants, made.lines, made.precision)
    return tracing.without_effects(execution.intern(made))


def called(program: Program, *inputs: Any) -> Tensor:
    """Call a Program on tensors; return its one result."""
    (node,) = tracing.call(program, tuple([x.node for x in inputs]))
    return EagerTensor(node)
