"""When a Program is compiled: one cost model, of counts and Avals and never of clocks, so that two runs give the same bits.

Before that a Program runs node by node: hosted ops on NumPy, without a compiler, other ops each by a compiled kernel of its own.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import jax

from gradtape._src.core import memory, tuning
from gradtape._src.core.aval import bytes_of
from gradtape._src.core.program import ELEMENT
from gradtape._src.core.structured import StructuredOp, is_call

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from gradtape._src.core.op import Op
    from gradtape._src.core.program import Program

# Microseconds on two cores (Zen 4), as measured for rows of the benchmarks. Only their ratios matter.
COMPILE = 30_000  # to compile any program,
COMPILE_NODE = 1_500  # and each of its nodes
COMPILE_KERNEL = 35_000  # to compile one op by itself
CALL_KERNEL = 12  # to call it
HOSTED = 5  # to run one op on NumPy,
HOSTED_BYTE = 0.00006  # and for each byte that it reads or writes
HOSTED_PRODUCT = 0.00004  # and for each multiplication of a product of matrices
# A program that was seen for some time will be seen for as long again, and longer. It is compiled once its runs node by node
# have cost this part of what compiling it costs.
PATIENCE = 1 / 8
HOSTED_BYTES = 1 << 23  # a single op that reads and writes more is compiled: XLA takes all cores
LARGE_RECORD = 64  # nodes; a smaller record is compiled faster than its kernels

early = False  # whether each Program is compiled at first sight, unless its kernels are known


def compile_early(wanted: bool) -> None:
    """Compile each Program at first sight, unless its kernels are known; or not."""
    global early
    early = wanted


def stays_apart(program: Program, kernels: Container[Any], again: bool) -> bool:
    """Return whether a Program that is not compiled yet runs node by node this time.

    `kernels` are those that are compiled. `again`: it is a record that the explainer runs again. All its values are results, so a
    large one is never compiled whole.
    """
    if again and program.size > LARGE_RECORD:
        return True
    if has_loops(program) or program.bytes > memory.LARGE:
        return False
    if tuning.is_fused_again(program):
        return True
    costs, own = _costs(program)
    new = COMPILE_KERNEL * sum([key not in kernels for key in own])
    whole = COMPILE + COMPILE_NODE * program.size
    if not hosting():
        return program.runs == 1 and new < whole
    program.spent += costs / PATIENCE + new
    return program.spent < whole


def _costs(program: Program) -> tuple[float, frozenset[Any]]:
    """Return `(microseconds of a run node by node, keys of the kernels that it calls)`."""
    known: tuple[float, frozenset[Any]] | None = program.derived.get(("costs", hosting()))
    if known is None:
        total = 0.0
        own: set[Any] = set()
        for (op, attrs, *references), result in zip(program.keys, program.avals, strict=True):
            avals = [program.aval_of(r) for r in references]
            if is_call(op):
                cost, inner = _costs(attrs[0])
                total += cost
                own |= inner
            elif op is not ELEMENT:
                if hosts(op, avals, result):
                    total += HOSTED + HOSTED_BYTE * sum(map(bytes_of, [*avals, result]))
                    if op.type in tuning.CONTRACTIONS:
                        total += HOSTED_PRODUCT * math.sqrt(math.prod([float(a.size) for a in [*avals[:2], result]]))
                else:
                    total += CALL_KERNEL
                    own.add((op, attrs, *avals))
        known = program.derived["costs", hosting()] = total, frozenset(own)
    return known


def has_loops(program: Program) -> bool:
    """Return whether a Program holds branches or loops."""
    known = program.derived.get("loops")
    if known is None:
        inner = [(key[0], key[0].bodies(key[1])) for key in program.keys if isinstance(key[0], StructuredOp)]
        known = any(not is_call(op) or any(has_loops(body.program) for body in bodies) for op, bodies in inner)
        program.derived["loops"] = known
    return bool(known)


def all_hosted(program: Program) -> bool:
    """Return whether each op of a Program runs on NumPy where it runs by itself."""
    return hosting() and not has_loops(program) and not _costs(program)[1]


def hosting() -> bool:
    """Return whether ops may run on the host: where the CPU is the only device, and programs are not compiled early."""
    return not early and _on_one_cpu()


def hosts(op: Op, avals: Sequence[Any], result: Any) -> bool:
    """Return whether an op runs on NumPy where it runs by itself.

    Complex numbers do not: NumPy's products and quotients of infinities are not those of C, which XLA has.
    """
    if not (op.hosted and hosting()) or any(type(a) is not tuple and a.dtype.kind == "c" for a in avals):
        return False
    return sum(map(bytes_of, avals)) + bytes_of(result) <= HOSTED_BYTES


@functools.cache
def _on_one_cpu() -> bool:
    return jax.default_backend() == "cpu" and jax.device_count() == 1
