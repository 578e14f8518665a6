"""The gradient of a call of a traced function: a call of the function's gradient Program."""

from __future__ import annotations

from typing import Any

from gradtape._src.autodiff.backward import Operation, differentiable_parts, vjp_program
from gradtape._src.core.base import errors
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import tracing
from gradtape._src.core.programs.program import FUNCTION, Program
from gradtape._src.core.tensors.indexed_slices import IndexedSlices
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor
from gradtape._src.ops.array.creation import zeros_of
from gradtape._src.ops.array.shape import host_shape


@gradient(FUNCTION)
def _function_gradient(op: Operation, *grads: Any) -> list[Tensor | IndexedSlices | None]:
    """Return the gradient of a call.

    An input on which only outputs without a cotangent depend gets zeros, as in TensorFlow. Rows stay rows. If the call is itself
    a gradient, the forward inputs whose values it uses get zeros, too.
    """
    entry = op.entry
    (program,) = entry.node.attrs
    given = tuple([i for i, d in enumerate(grads) if d is not None and d.node.aval.inexact])
    needed = tuple([i for i, need in enumerate(op.needed) if need])
    results: list[Tensor | IndexedSlices | None] = [None] * len(op.needed)
    derived, where = vjp_program(program, given, needed, slices=True)
    if derived.outputs:
        nodes = tracing.call(derived, (*entry.inputs, *[grads[i].node for i in given]), FUNCTION)
        for i, place in zip(needed, where, strict=True):
            if isinstance(place, tuple):
                values, indices = place
                shape = host_shape(entry.inputs[i].aval.shape)
                results[i] = IndexedSlices(EagerTensor(nodes[values]), EagerTensor(nodes[indices]), shape)
            elif place is not None:
                results[i] = EagerTensor(nodes[place])
    if None in where:
        others = connected(program) | connected(program.derived.get(tracing.FORWARD))
        for i, place in zip(needed, where, strict=True):
            if place is None and i in others:
                results[i] = zeros_of(entry.inputs[i])
    return results


def connected(program: Program | None) -> set[int]:
    """Return the positions of the parameters on which an output depends; the empty set for None."""
    if program is None:
        return set()
    outputs, inputs = differentiable_parts(program)
    found: set[int] = set()
    for some in [outputs, *[(i,) for i in outputs]]:
        try:
            _, where = vjp_program(program, some, inputs)
        # An op without a gradient, or without one for its dtype, need not raise here: nobody asked for this gradient.
        except (LookupError, errors.OpError, TypeError):
            continue
        found |= {i for i, place in zip(inputs, where, strict=True) if place is not None}
        if some is outputs:
            break
    return found
