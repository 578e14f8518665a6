"""Jacobians by rows or columns: one vectorised call of a gradient Program, or of its transpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gradtape._src.autodiff.backward import vjp_program
from gradtape._src.autodiff.plan import Plan
from gradtape._src.autodiff.vectorized import call_vectorized, check_chunk
from gradtape._src.core.base.errors import ResourceExhaustedError
from gradtape._src.core.platform import memory
from gradtape._src.core.programs.program import Node, Program, Trace
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.core.values.aval import Aval, bytes_of
from gradtape._src.ops.array.creation import eye
from gradtape._src.ops.array.shape import ones, reshape, transpose
from gradtape._src.ops.math.complex import conj

MODES = ("reverse", "forward", None)
ROOM = 0.5  # the share of free memory for a proposed chunk


class JacobianRows:
    """The plan of a Jacobian: rows for elements of the target (`mode` "reverse"), or columns for those of a source ("forward").

    None takes the smaller number. `chunk` is the number of rows or columns at once; None: all.
    """

    __slots__ = ("chunk", "mode")
    mode: str | None
    chunk: int | None

    def __init__(self, mode: str | None = None, chunk: int | None = None) -> None:
        if mode not in MODES:
            raise ValueError(f"mode must be 'reverse', 'forward' or None, received {mode!r}.")
        check_chunk(chunk)
        self.mode, self.chunk = mode, chunk

    def apply(self, plan: Plan, traces: Sequence[Trace], seeds: Sequence[Tensor]) -> list[Tensor | None]:
        """Return the stacked gradients for stacked output gradients, by reverse mode."""
        self._check(plan.program, seeds[0].node.aval.shape[0], "row")
        return plan.apply(traces, seeds, vectorized=True, chunk=self.chunk)

    def by_columns(self, plan: Plan, traces: Sequence[Trace], target: Aval) -> list[Tensor | None] | None:
        """Return the Jacobians of `target` for each source of a plan with one seed: target.shape + source.shape.

        None if rows are cheaper.
        """
        program = plan.program
        if not program.outputs:
            return [None] * len(plan.layout)
        sources = program.results
        columns = self._columns(program, sum([source.size for source in sources]), target.size)
        if columns is None:
            return None
        shared = [ones(target.shape, target.type).node, *plan.inputs(traces)]
        return [None if at is None else self._by_columns(columns[at], shared, sources[at], target) for at in plan.layout]

    def _columns(self, program: Program, sources: int, target: int) -> list[Program] | None:
        """Return the transposes of a gradient Program, one for each output; None if rows are cheaper."""
        if self.mode == "reverse" or (self.mode is None and sources >= target):
            return None
        if self.mode is None and any(program.aval_of(r).dtype.kind == "c" for r in (-1, *program.outputs)):
            return None  # rows and columns differ for functions that are not holomorphic
        found = [transposed(program, place) for place in range(len(program.outputs))]
        if self.mode is None and not all(linear(p) for p in found):
            return None
        return found

    def _by_columns(self, program: Program, shared: Sequence[Node], source: Aval, target: Aval) -> Tensor:
        count = source.size
        self._check(program, count, "column")
        tangents = reshape(eye(count, dtype=source.type), (count, *source.shape))
        mapped = [*[False] * len(shared), True]
        (columns,) = call_vectorized(program, [*shared, tangents.node], mapped, self.chunk)
        stacked = reshape(EagerTensor(columns), (*source.shape, *target.shape))
        rank = len(source.shape)
        axes = (*range(rank, rank + len(target.shape)), *range(rank))
        result: Tensor = transpose(stacked, axes)
        # Gradients are conjugate derivatives, so that rows are conjugate, too.
        return conj(result) if source.dtype.kind == "c" else result

    def _check(self, program: Program, count: int, what: str) -> None:
        """Raise ResourceExhaustedError, before allocation, if all rows at once would not fit into memory.

        A user's chunk size is not checked, as the estimate ignores XLA's fusions.
        """
        if self.chunk is not None:
            return
        result = count * bytes_of(program.results)
        row = peak_bytes(program)
        available = memory.available()
        if result + count * row <= available:
            return
        needs = f"{count:,} {what}s take about {_gib(result + count * row)}, and {_gib(available)} are available"
        fits = int((ROOM * available - result) // max(row, 1))
        if fits < 1:
            mend = (
                f"The result alone takes {_gib(result)}: ask for products with it (tf.autodiff.jvp, vjp), or where "
                "most of it is zero for tf.autodiff.sparse_jacobian."
            )
        else:
            mend = f"Give chunk_size={fits}: {what}s are then computed so many at a time."
        raise ResourceExhaustedError.saying(f"The Jacobian would not fit into memory: {needs}. {mend}")


def transposed(program: Program, place: int) -> Program:
    """Return the transpose of a gradient Program (seed, residuals…) → cotangents, for one of its outputs.

    It maps (seed, residuals…, tangent of that source) to the target's tangent. The seed's value is not used if the Program is
    linear in it.
    """
    derived, where = vjp_program(program, (place,), (0,))
    if where[0] is None:
        raise LookupError("the gradient does not depend on its output gradient")
    return derived


def linear(program: Program) -> bool:
    """Return whether a transposed Program does not read its seed, so that the original is linear."""
    return all(-1 not in key[2:] for key in program.keys) and -1 not in program.outputs


def peak_bytes(program: Program) -> int:
    """Estimate the peak memory of a Program's values in bytes, without its parameters.

    An element-wise op's value counts nothing if it is used once, since XLA fuses it with its use.
    """
    uses = Counter([r for key in program.keys for r in key[2:]] + 2 * [*program.outputs])
    sizes = [
        0 if uses[i] < 2 and (key[0].broadcasting or key[0].cheap) else bytes_of(program.avals[i])
        for i, key in enumerate(program.keys)
    ]
    now = peak = 0
    for key, size, ended in zip(program.keys, sizes, program.ends, strict=True):
        now += size
        peak = max(peak, now + max(map(peak_bytes, key[0].programs(key[1])), default=0))
        now -= sum([sizes[r] for r in ended])
    return peak


def _gib(number: int) -> str:
    return f"{number / 2**30:,.2f} GiB"
