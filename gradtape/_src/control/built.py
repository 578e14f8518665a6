"""Programs made from functions that compute with tensors, call Programs and run loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtape._src.control.scope import Scope, draft
from gradtape._src.core.engine import tracing
from gradtape._src.core.programs.program import Program, leaf
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor


def built(function: Callable[..., Sequence[Tensor]], parameters: Sequence[Any]) -> Program:
    """Trace a function of tensors, which may call Programs and loops, for parameters of these Avals; return its Program."""
    leaves = [leaf(a, None) for a in parameters]
    body = draft(lambda: list(function(*map(EagerTensor, leaves))), leaves, Scope(nested=True))
    return tracing.without_effects(body.program(leaves, body.results))


def called(program: Program, *inputs: Any) -> Tensor:
    """Call a Program with one result on tensors."""
    (node,) = tracing.call(program, tuple([x.node for x in inputs]))
    return EagerTensor(node)
