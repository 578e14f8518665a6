"""Options for the compiler, chosen by what a program holds, never by timing: two runs must give the same bits."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import jax
import numpy as np

from gradtape._src.core import hooks
from gradtape._src.core.structured import is_call, programs_of

if TYPE_CHECKING:
    from gradtape._src.core.program import Program

# XLA's CPU compiler gives convolutions to YNNPACK, which computes each on one core; Eigen takes all of them. Products
# stay with YNNPACK, and sums, which it adds up pairwise: with a convolution that is summed at once, as one kernel.
# An experimental flag: a jaxlib may lack it.
CONVOLVING = {
    "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE",
}
CONVOLUTIONS = frozenset(("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"))
# XLA's CPU compiler fuses each result with all the elementwise ops before it, up to the parameters, also where these ops are
# results themselves. In a chain of n results that is n² / 2 ops: 150 take 6 s to compile. A program that would grow by this
# factor runs node by node. (Without the pass `fusion` XLA has given wrong numbers.)
FUSED_AGAIN = 32
# XLA evaluates ops on constants while it compiles, one element at a time: the maximum of 4 million ones takes 9 s, their
# cumulative product minutes. `LARGE_CONSTANT` is the number of elements from which on an op on constants is left to the program.
UNFOLDED = {"xla_disable_hlo_passes": "constant_folding"}
LARGE_CONSTANT = 1 << 14
# Over several processes the collectives of a program must have one order, which XLA's concurrent scheduler for CPUs may change.
IN_ORDER = {"xla_cpu_enable_concurrency_optimized_scheduler": "false"}
CONTRACTIONS = frozenset(("MatMul", "BatchMatMulV2", "Einsum")) | CONVOLUTIONS


def options(program: Program) -> dict[str, str] | None:
    """Return the compiler options for a Program: a dict, or None for the compiler's own choice."""
    chosen: dict[str, str] = {}
    if _holds_convolution(program) and _accepted("convolving"):
        chosen |= CONVOLVING
    if _folds_large(program) and _accepted("unfolded"):
        chosen |= UNFOLDED
    if hooks.clients.together is not None and _accepted("in order"):
        chosen |= IN_ORDER
    return chosen or None


def _folds_large(program: Program, constant: frozenset[int] = frozenset()) -> bool:
    """Return whether an op of a Program reads a large value, and only values that depend on no parameter.

    `constant` are the references of parameters that are constants where the Program is called.
    """
    known = program.derived.get(("folds", constant))
    if known is None:
        known = program.derived["folds", constant] = _finds_large(program, constant)
    return bool(known)


def _finds_large(program: Program, constant: frozenset[int]) -> bool:
    count = len(program.parameters)
    known = {*constant, *range(-count, len(program.constants) - count)}
    for index, (op, attrs, *references) in enumerate(program.keys):
        if known.issuperset(references):
            known.add(index)
            avals = [program.aval_of(r) for r in references]
            if any(type(a) is not tuple and a.size >= LARGE_CONSTANT for a in avals):
                return True
        given = frozenset([-1 - i for i, r in enumerate(references) if r in known]) if is_call(op) else frozenset()
        if any(_folds_large(inner, given) for inner in programs_of(op, attrs)):
            return True
    return False


def is_fused_again(program: Program) -> bool:
    """Return whether fusion would repeat most of the ops of a Program, as many of its results lead to others."""
    known = program.derived.get("fused_again")
    if known is None:
        known = program.derived["fused_again"] = _fuses_again(program)
    return bool(known)


def _fuses_again(program: Program) -> bool:
    results = [r for r in set(program.outputs) if r >= 0]
    left = FUSED_AGAIN * len(program.keys)
    if len(results) ** 2 <= left:
        return False
    sizes = [
        0 if type(a) is tuple or k[0].type in CONTRACTIONS else a.size for k, a in zip(program.keys, program.avals, strict=True)
    ]
    for result in results:
        seen = {result}
        pending = [result]
        while pending:
            for reference in program.keys[pending.pop()][2:]:
                if reference >= 0 and reference not in seen and sizes[reference] == sizes[result]:
                    seen.add(reference)
                    pending.append(reference)
        left -= len(seen)
        if left < 0:
            return True
    return False


def _holds_convolution(program: Program) -> bool:
    pending = [program]
    while pending:
        for op, attrs, *_ in pending.pop().keys:
            if op.type in CONVOLUTIONS:
                return True
            if is_call(op):
                pending.append(attrs[0])
    return False


@functools.cache
def _accepted(which: str) -> bool:
    """Return whether this process computes on a CPU and its jaxlib knows the options."""
    if jax.default_backend() != "cpu":
        return False
    try:
        known = {"convolving": CONVOLVING, "unfolded": UNFOLDED, "in order": IN_ORDER}
        identity = jax.jit(lambda x: x, compiler_options=known[which])
        identity.lower(jax.ShapeDtypeStruct((), np.float32)).compile()
    except (jax.errors.JaxRuntimeError, TypeError, ValueError):
        return False
    return True
