"""Solutions of equations as differentiable functions of the equations' inputs: roots, fixed points, minima.

The solution of F(z, p) = 0 has the derivative dz = −(∂F/∂z)⁻¹ (∂F/∂p) dp: the implicit function theorem. The solving op has this
gradient, computed at its result by `linear_solve`. It is made of ops, so every order and both modes follow. See Blondel et al.,
"Efficient and modular implicit differentiation" (2022).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Operation, pulled_back
from gradtape._src.control.built import built, called
from gradtape._src.control.loop import while_loop
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine
from gradtape._src.core.programs.op import define
from gradtape._src.core.programs.program import Program, memoized
from gradtape._src.core.programs.structured import arity, by_program
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.derivatives.evaluation import check_count
from gradtape._src.derivatives.linear_solve import Unknowns, approximate, checked, solved
from gradtape._src.derivatives.slopes import adjoint_of, gradient_of, slope_of
from gradtape._src.derivatives.sparsity import Sparsity
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import fill
from gradtape._src.ops.array.joining import stack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import ones, zeros
from gradtape._src.ops.linalg.norms import norm
from gradtape._src.ops.math.compare import is_finite, logical_and, logical_not, logical_or
from gradtape._src.ops.math.reduction import reduce_sum


class Solution(NamedTuple):
    """The attributes of the solving op: its `program`, and the `function` (z, captures…) that is zero at the solution.

    `pattern`: the sparsity pattern of its Jacobian, if any. `contracts`: whether fixed-point iteration found the solution.
    """

    program: Program
    function: Program
    pattern: Sparsity | None
    contracts: bool


IMPLICIT = define(
    by_program("ImplicitSolution", Solution, traits="own")
)  # (start, captures of the function…) → (z, status vector of the search)


@gradient(IMPLICIT)
def _gradient(op: Operation, dz: Tensor, _: Tensor) -> list[Any]:
    _, function, pattern, contracts = op.entry.node.attrs
    z, used = op.outputs[0].node, op.entry.inputs[1:]
    u = solved(slope_of(function), [dz.node, z, *used], pattern and pattern.transposed, contracts)
    return pulled_back(function, [z, *used], [-u], [False, *op.needed[1:]])


class Search(NamedTuple):
    """A search for a zero of `function`, at a minimum of `objective` if there is one, by Newton's method or iteration."""

    what: str
    function: Program
    objective: Program | None
    newton: bool
    max_steps: int
    tolerance: float
    pattern: Sparsity | None = None

    def direction(self, z: Tensor, used: tuple[Tensor, ...], residual: Tensor, damping: Tensor) -> Tensor:
        """Return the next step: Newton's, shortened by `damping`. For a minimum, the Hessian gets a multiple of the identity."""
        slope = slope_of(self.function)
        if not self.newton:
            return residual
        if self.objective is None:
            return approximate(adjoint_of(slope), -residual, (z, *used), pattern=self.pattern)[0] / (1.0 + damping)
        curved = norm(called(slope, residual, z, *used)) / where(norm(residual) > 0.0, norm(residual), ones((), z.dtype))
        shift = 1.5 * damping * where(curved > 0.0, curved, ones((), z.dtype))
        return approximate(_shifted(slope), -residual, (shift, z, *used), definite=True)[0]

    def merit(self, z: Tensor, used: tuple[Tensor, ...], residual: Tensor) -> Tensor:
        """Return the quantity that a step must decrease: the residual's norm, or the objective."""
        return norm(residual) if self.objective is None else called(self.objective, z, *used)

    def run(self, z: Tensor, *used: Tensor) -> list[Tensor]:
        """Record the loop; return the solution or NaN, and the status vector: found, residual, last step, number of steps."""
        kind = z.dtype
        eps = float(np.finfo(kind.as_numpy_dtype).eps)

        def step(i: Any, done: Any, z: Any, residual: Any, merit: Any, damping: Any, _: Any) -> Any:
            along = self.direction(z, used, residual, damping)
            there = z + along
            found = called(self.function, there, *used)
            value = self.merit(there, used, found)
            size = norm(along)
            near = size <= self.tolerance * (1.0 + norm(z))
            if not self.newton:
                return i + 1, near, there, found, value, damping, size
            better = value <= merit
            if self.objective is not None:  # Armijo's condition, to rounding
                slope = reduce_sum(along * residual)
                slack = 10.0 * eps * (abs(merit) + abs(value))
                better = logical_and(value <= merit + 1e-4 * slope + slack, slope <= 0.0)
            done = logical_and(logical_and(near, is_finite(value)), damping <= 0.0)
            taken = logical_or(better, done)
            eased = where(damping < 0.5, zeros((), kind), damping / 8.0)
            damping = where(taken, eased, 4.0 * damping + 1.0)
            return i + 1, done, where(taken, there, z), where(taken, found, residual), where(taken, value, merit), damping, size

        residual = called(self.function, z, *used)
        state = (0, False, z, residual, self.merit(z, used, residual), zeros((), kind), zeros((), kind))
        ended = while_loop(lambda i, done, *_: logical_not(done), step, state, maximum_iterations=self.max_steps)
        i, done, z, residual, _, _, size = ended
        found = stack([cast(done, kind), norm(residual), size, cast(i, kind)])
        return [where(done, z, fill(extents_of(z), tensor(np.nan, kind))), found]


@memoized
def _shifted(slope: Program) -> Program:
    """Return the Program (v, shift, z, captures…) → (H + shift) v, from that of H v."""
    v, *used = slope.parameters[: arity(slope)]
    return built(lambda v, shift, *used: [called(slope, v, *used) + shift * v], [v, aval((), v.dtype), *used])


@memoized
def _searching(function: Program, search: Search) -> Program:
    return built(search.run, function.parameters[: arity(function)])


def _found(search: Search, unknowns: Unknowns, used: list[Any]) -> Any:
    """Record the search and the check of its status; return the solution."""
    attrs = Solution(_searching(search.function, search), search.function, search.pattern, not search.newton)
    nodes = engine.elements(engine.record(IMPLICIT, (unknowns.vector.node, *used), attrs))
    z, found = map(EagerTensor, nodes)
    return unknowns.pack(checked(z, found, what=search.what))


def _options(start: Tensor, max_steps: int, tolerance: float | None) -> tuple[int, float]:
    check_count("max_steps", max_steps)
    if tolerance is None:
        tolerance = float(np.finfo(start.dtype.as_numpy_dtype).eps) ** (2 / 3)
    if not 0.0 < tolerance < 1.0:
        raise ValueError(f"tolerance must be between 0 and 1, received {tolerance!r}.")
    return max_steps, float(tolerance)


@public
def root(
    f: Callable[[Any], Any],
    start: Any,
    max_steps: int = 100,
    tolerance: float | None = None,
    pattern: Sparsity | None = None,
) -> Any:
    """Return a `z` with `f(z) = 0`, found from `start`, as a function of what `f` uses, with derivatives of any order.

    `f`: from a nest like `start` to one like it, made of ops. Tensors and variables that it uses are found, and differentiated in
    both modes. `start`: a tensor or a nest of tensors, all float32 or all float64; it gets no gradient. Newton's method, damped
    where the norm of `f` would grow. Systems are solved as in `linear_solve`: by their matrix up to 512 unknowns, above by GMRES;
    with a `pattern`, from `jacobian_sparsity(f, start)`, by sparse LU factors. It ends where a step is below `tolerance` · (1 +
    norm of `z`) (None: 4e-11, or 2e-5 in float32). InvalidArgumentError with the residual if that takes more than `max_steps`.
    Gradients are NaN where the derivative of `f` is singular. ValueError for an `f` with effects, NotImplementedError for one
    that looks at values.

    >>> a = tf.Variable(4.0)
    >>> with tf.GradientTape() as tape:
    ...     z = tf.autodiff.root(lambda z: z * z - a, 1.0)
    >>> float(z), float(tape.gradient(z, a))
    (2.0, 0.25)
    """
    unknowns = Unknowns(start, "root")
    options = _options(unknowns.vector, max_steps, tolerance)
    function, used = unknowns.traced(f)
    return _found(Search("root", function, None, True, *options, unknowns.square(pattern)), unknowns, used)


@public
def fixed_point(f: Callable[[Any], Any], start: Any, max_steps: int = 1000, tolerance: float | None = None) -> Any:
    """Return the `z` with `f(z) = z` that repeating `f` from `start` leads to, as a function of what `f` uses.

    Arguments, derivatives and errors are those of `root`. It needs no matrix: `f` is repeated until a step is below the
    tolerance, and so is its derivative for gradients, unless that contracts slowly. For a point that repetition leads away
    from, take the `root` of `f(z) - z`. Bai, Kolter and Koltun, "Deep equilibrium models" (2019), differentiate so.

    >>> a = tf.Variable(0.5)
    >>> with tf.GradientTape() as tape:
    ...     z = tf.autodiff.fixed_point(lambda z: a * z + 1.0, 0.0)
    >>> round(float(z), 3), round(float(tape.gradient(z, a)), 3)
    (2.0, 4.0)
    """
    unknowns = Unknowns(start, "fixed_point")
    options = _options(unknowns.vector, max_steps, tolerance)
    function, used = unknowns.traced(f, moved=True)
    return _found(Search("fixed_point", function, None, False, *options), unknowns, used)


@public
def argmin(f: Callable[[Any], Any], start: Any, max_steps: int = 200, tolerance: float | None = None) -> Any:
    """Return the `z` at which the scalar `f(z)` has a minimum, found from `start`, as a function of what `f` uses.

    Arguments, derivatives and errors are those of `root`. It is Newton's method on the gradient, with a multiple of the identity
    added to the Hessian where `f` would grow. A Hessian that is not positive definite at the solution is an
    InvalidArgumentError up to 512 unknowns; above it is not looked at.

    >>> a = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     z = tf.autodiff.argmin(lambda z: (z - a) ** 2 + 1.0, 0.0)
    >>> float(z), float(tape.gradient(z, a))
    (3.0, 1.0)
    """
    unknowns = Unknowns(start, "argmin")
    options = _options(unknowns.vector, max_steps, tolerance)
    objective, used = unknowns.traced(f, scalar=True)
    return _found(Search("argmin", gradient_of(objective), objective, True, *options), unknowns, used)
