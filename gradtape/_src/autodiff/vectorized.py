"""A Program run for many sets of arguments at once: one call node, whose gradient is again a vectorised call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from gradtape._src.autodiff.backward import Operation, vjp_program
from gradtape._src.core import engine
from gradtape._src.core.aval import Aval, aval
from gradtape._src.core.op import Op, define
from gradtape._src.core.program import Node, Program
from gradtape._src.core.tensor import EagerTensor, Tensor
from gradtape._src.ops.reduction import reduce_sum


def _kernel(*arguments: Any, program: Program, mapped: tuple[bool, ...]) -> tuple[Any, ...]:
    return jax.vmap(program.evaluate, in_axes=tuple([0 if m else None for m in mapped]))(*arguments)


def _avals(*avals: Aval, program: Program, mapped: tuple[bool, ...]) -> tuple[Aval, ...]:
    count = next(a.shape[0] for a, m in zip(avals, mapped, strict=True) if m)
    results = [program.aval_of(r) for r in program.outputs]
    return tuple([aval((count, *r.shape), r.dtype) for r in results])


VECTORIZED_CALL = define(Op("VectorizedCall", _kernel, infer=_avals))


def call_vectorized(program: Program, inputs: Sequence[Node], mapped: Sequence[bool]) -> list[Node]:
    """Call `program` on nodes, of which those in `mapped` carry one more axis in front; so do all results."""
    return engine.elements(engine.record(VECTORIZED_CALL, tuple(inputs), (program, tuple(mapped))))


def _gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
    program, mapped = op.entry.node.attrs
    given = tuple(range(len(grads)))
    needed = tuple([i for i, need in enumerate(op.needed) if need])
    derived, where = vjp_program(program, given, needed)
    results: list[Tensor | None] = [None] * len(mapped)
    if derived.outputs:
        inputs = [*op.entry.inputs, *[d.node for d in grads]]
        nodes = call_vectorized(derived, inputs, (*mapped, *[True] * len(grads)))
        for i, place in zip(needed, where, strict=True):
            if place is not None:
                result = EagerTensor(nodes[place])
                results[i] = result if mapped[i] else reduce_sum(result, axis=0)
    return results


VECTORIZED_CALL.gradient = _gradient
