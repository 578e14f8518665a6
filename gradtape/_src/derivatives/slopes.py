"""Programs of derivatives of a Program with one result by its first parameter: products, their transpose, gradients."""

from __future__ import annotations

from gradtape._src.autodiff.backward import vjp_program
from gradtape._src.core.engine import tracing
from gradtape._src.core.programs.program import Node, Program, memoized
from gradtape._src.core.programs.structured import arity
from gradtape._src.ops.array.shape import ones, zeros


@memoized
def slope_of(function: Program) -> Program:
    """Return the Program (v, z, captures…) → (∂F/∂z)ᵀ v of a function F(z), which may be scalar."""
    pulled, (place,) = vjp_program(function, (0,), (0,))

    def product(v: Node, z: Node, *used: Node) -> list[Node]:
        return [zeros(z.aval.shape, z.aval.type).node if place is None else tracing.inline(pulled, [z, *used, v])[place]]

    return tracing.program_of(product, [function.aval_of(function.outputs[0]), *function.parameters[: arity(function)]])


@memoized
def adjoint_of(function: Program) -> Program:
    """Return the transpose of a Program (x, captures…) → A x that is linear in x: its slope, which is the same at every x."""
    slope, (x, *used) = slope_of(function), function.parameters[: arity(function)]
    return tracing.program_of(lambda v, *used: tracing.inline(slope, [v, zeros(x.shape, x.type).node, *used]), [x, *used])


@memoized
def gradient_of(objective: Program) -> Program:
    """Return the Program of the gradient of a scalar Program by its first parameter."""
    slope, given = slope_of(objective), objective.parameters[: arity(objective)]
    return tracing.program_of(lambda z, *used: tracing.inline(slope, [ones((), z.aval.type).node, z, *used]), given)
