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
OPTIONS = {
    "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE",
}
CONVOLUTIONS = frozenset(("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"))


def options(program: Program) -> dict[str, str] | None:
    """The compiler options for a Program: a dict, or None for the compiler's own choice."""
    return OPTIONS if _holds_convolution(program) and _accepted() else None


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
def _accepted() -> bool:
    """Whether this process computes on a CPU and its jaxlib knows the options."""
    if jax.default_backend() != "cpu":
        return False
    try:
        identity = jax.jit(lambda x: x, compiler_options=OPTIONS)
        identity.lower(jax.ShapeDtypeStruct((), np.float32)).compile()
    except (jax.errors.JaxRuntimeError, TypeError, ValueError):
        return False
    return True
