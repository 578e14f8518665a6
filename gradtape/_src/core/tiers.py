"""The time to compile a Program: one cost model, of counts and Avals and never of clocks, so that two runs give the same bits.

Before that a Program runs node by node: hosted ops on NumPy, without a compiler, other ops each by a compiled kernel of its own.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from gradtape._src.core import memory, tuning
from gradtape._src.core.aval import bytes_of
from gradtape._src.core.program import ELEMENT
from gradtape._src.core.structured import BRANCH, ROWS, StructuredOp, is_call, programs_of

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from gradtape._src.core.op import Attributes, Op
    from gradtape._src.core.program import Program

# Microseconds on two cores (Zen 4), as measured for rows of the benchmarks. Only their ratios matter.
COMPILE = 30_000  # to compile any program,
COMPILE_NODE = 1_500  # and each of its nodes
COMPILE_LOOP = 25_000  # and each branch and loop
COMPILE_KERNEL = 35_000  # to compile one op by itself
CALL_KERNEL = 12  # to call it
HOSTED = 5  # to run one op on NumPy,
HOSTED_ROW = 0.7  # to take or keep one value in a loop,
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


class Costs(NamedTuple):
    """The costs of a run of a Program node by node, in microseconds.

    `own` is without the branches and loops in it, `least` with what those cost at least. `kernels` are the keys of the kernels
    that it calls, also in those. `hosted` says of each node whether it runs on NumPy.
    """

    own: float
    least: float
    kernels: frozenset[Any]
    hosted: tuple[bool, ...]


def allowance(program: Program, kernels: Container[Any], again: bool) -> float:
    """Return the most that a Program without compiled code may cost node by node this time, in microseconds; 0: compile it.

    `kernels` are those that are compiled. `again`: it is a record that the explainer runs again. All its values are results, so a
    large one is never compiled whole.
    """
    if again and program.size > LARGE_RECORD:
        return math.inf
    if program.bytes > memory.LARGE:
        return 0.0
    loops = count_loops(program)
    if not loops and tuning.is_fused_again(program):
        return math.inf
    known = costs(program)
    new = COMPILE_KERNEL * sum([key not in kernels for key in known.kernels])
    whole = COMPILE + COMPILE_NODE * program.size + COMPILE_LOOP * loops
    if not hosting():
        return math.inf if not loops and program.runs == 1 and new < whole else 0.0
    program.spent += known.least / PATIENCE + new
    if program.spent >= whole:
        return 0.0
    return known.least + (whole - program.spent) * PATIENCE if loops else math.inf


def spend(program: Program, cost: float) -> None:
    """Note what a run cost beyond the least: a loop in it made more trips than it had to."""
    program.spent += cost / PATIENCE


def costs(program: Program) -> Costs:
    """Estimate the cost of a run node by node."""
    key = "costs", hosting()
    known: Costs | None = program.derived.get(key)
    if known is None:
        known = program.derived[key] = _costs(program)
    return known


def _costs(program: Program) -> Costs:
    avals = [*program.avals, *reversed(program.parameters)]  # what a negative reference finds
    sizes = list(map(_hosted_bytes, avals))
    own = more = 0.0
    kernels: set[Any] = set()
    hosted = [False] * len(program.keys)
    for index, (op, attrs, *references) in enumerate(program.keys):
        if isinstance(op, StructuredOp):
            inner = [costs(held) for held in programs_of(op, attrs)]
            kernels.update(*[of.kernels for of in inner])
            if is_call(op):
                own, more = own + inner[0].own, more + inner[0].least - inner[0].own
            else:
                own += HOSTED + HOSTED_BYTE * bytes_of(avals[index])
                more += _least(op, attrs, [avals[r] for r in references])
        elif op is not ELEMENT:
            moved = sizes[index] + sum([sizes[r] for r in references])
            if op.hosted and moved <= HOSTED_BYTES and hosting():
                hosted[index] = True
                own += HOSTED + HOSTED_BYTE * moved
                if op.type in tuning.CONTRACTIONS:
                    own += HOSTED_PRODUCT * math.sqrt(math.prod([float(avals[r].size) for r in (*references[:2], index)]))
            else:
                own += CALL_KERNEL
                kernels.add((op, attrs, *[avals[r] for r in references]))
    return Costs(own, own + more, frozenset(kernels), tuple(hosted))


def _least(op: StructuredOp, attrs: Attributes, avals: Sequence[Any]) -> float:
    """Estimate the least cost of the Programs in an op: how often some run depends on values."""
    runs = [(call_cost(inside) + costs(inside).least, times) for inside, times in op.runs(attrs)]
    if op.kind == BRANCH:
        return min([cost for cost, _ in runs])
    if op.kind == ROWS:
        return sum([cost for cost, _ in runs]) * next(avals[i].shape[0] for body in op.bodies(attrs) for i in body.rows)
    by_values = op.decided_by(op.form(*attrs)) is not None or op.counted_by(op.form(*attrs)) is not None
    return 0.0 if by_values else sum([cost * times for cost, times in runs])


def call_cost(program: Program) -> float:
    """Estimate the cost of a call of a branch or the body of a loop, and of taking and keeping rows for it."""
    return HOSTED + HOSTED_ROW * (len(program.parameters) + len(program.outputs))


def count_loops(program: Program) -> int:
    """Count the branches and loops that a Program holds."""
    known: int | None = program.derived.get("loops")
    if known is None:
        known = sum(
            [sum(map(count_loops, programs_of(*key[:2]))) + (not is_call(key[0])) for key in program.keys if key[0].structured]
        )
        program.derived["loops"] = known
    return known


def all_hosted(program: Program) -> bool:
    """Return whether each op of a Program runs on NumPy where it runs by itself."""
    return hosting() and not costs(program).kernels


def hosting() -> bool:
    """Return whether ops may run on the host: where the CPU is the only device, and programs are not compiled early."""
    return not early and _on_one_cpu()


def hosts(op: Op, avals: Sequence[Any]) -> bool:
    """Return whether an op whose inputs are of `avals` runs on NumPy where it runs by itself."""
    return op.hosted and hosting() and sum(map(_hosted_bytes, avals)) <= HOSTED_BYTES


def _hosted_bytes(aval: Any) -> float:
    """Return the bytes of a value on the host.

    Complex numbers are too large for it: NumPy's products and quotients of infinities are not those of C, which XLA has.
    """
    return bytes_of(aval) if type(aval) is tuple or aval.dtype.kind != "c" else math.inf


@functools.cache
def _on_one_cpu() -> bool:
    return jax.default_backend() == "cpu" and jax.device_count() == 1
