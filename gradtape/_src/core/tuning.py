"""Options for the compiler, chosen by what a program holds, never by timing: two runs must give the same bits."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import jax
import numpy as np

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
# results themselves. In a chain of n results that is n² / 2 ops: 150 take 6 s to compile and 4 times as long to run.
UNFUSED = {"xla_disable_hlo_passes": "fusion"}
CONTRACTIONS = frozenset(("MatMul", "BatchMatMulV2", "Einsum")) | CONVOLUTIONS


def options(program: Program) -> dict[str, str] | None:
    """The compiler options for a Program: a dict, or None for the compiler's own choice."""
    chosen: dict[str, str] = {}
    if _holds_convolution(program) and _accepted("convolving"):
        chosen |= CONVOLVING
    if _fused_again(program) and _accepted("unfused"):
        chosen |= UNFUSED
    return chosen or None


def _fused_again(program: Program) -> bool:
    """Return whether fusion would compute at least twice the ops of a Program, as many of its results lead to others."""
    results = [r for r in set(program.outputs) if r >= 0]
    left = 2 * len(program.keys)
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
            if op.type == "PartitionedCall":
                pending.append(attrs[0])
    return False


@functools.cache
def _accepted(which: str) -> bool:
    """Whether this process computes on a CPU and its jaxlib knows the options."""
    if jax.default_backend() != "cpu":
        return False
    try:
        identity = jax.jit(lambda x: x, compiler_options={"convolving": CONVOLVING, "unfused": UNFUSED}[which])
        identity.lower(jax.ShapeDtypeStruct((), np.float32)).compile()
    except (jax.errors.JaxRuntimeError, TypeError, ValueError):
        return False
    return True
