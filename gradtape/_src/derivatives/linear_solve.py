"""Systems of linear equations whose matrix is a Program, with derivatives of any order.

x = A(p)⁻¹ b has the cotangents u = A⁻ᵀ dx for b, and −⟨u, ∂A(p) x⟩ for p, the captures of the matrix. They need another such
system, with the transposed Program, and one gradient. So every order and both modes follow.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradtape._src.autodiff.backward import Operation, pulled_back, vjp_program
from gradtape._src.autodiff.vectorized import called_on_rows
from gradtape._src.control.branch import cond
from gradtape._src.control.built import built, called
from gradtape._src.control.loop import while_loop
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.engine import engine, tracing
from gradtape._src.core.programs.op import define
from gradtape._src.core.programs.program import Node, Program, leaf, memoized
from gradtape._src.core.programs.structured import arity, by_program
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.derivatives.evaluation import Nest, traced
from gradtape._src.derivatives.slopes import adjoint_of
from gradtape._src.derivatives.sparse_factors import by_sparse_factors
from gradtape._src.derivatives.sparsity import Sparsity, stated
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import eye, fill, one_hot
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, reshape, transpose, zeros
from gradtape._src.ops.linalg.decompositions import lu, lu_solve
from gradtape._src.ops.linalg.diagonals import diag_part
from gradtape._src.ops.linalg.matmul import matvec as multiply
from gradtape._src.ops.linalg.norms import norm
from gradtape._src.ops.linalg.systems import cholesky, cholesky_solve, pinv
from gradtape._src.ops.math.compare import is_finite, logical_and
from gradtape._src.ops.math.reduction import reduce_all, reduce_max, reduce_min

DENSE = 512  # unknowns up to which the matrix is formed and factorised
BASIS = 30  # directions of a cycle of GMRES
CYCLES = 100  # of GMRES, at most
ROUNDING = 20.0  # residual at which an iteration by products ends, in rounding errors
REPETITIONS, SHORTER = 200, 0.8  # most trips, and least progress, of a contraction; else another solver is used


class System(NamedTuple):
    """The attributes of the solving op: its `program`, and the `function` (x, captures…) → A x.

    `pattern`: the sparsity pattern of the matrix, if any. `contracts`: whether A + 1 is likely a contraction.
    """

    program: Program
    function: Program
    pattern: Sparsity | None
    contracts: bool


SOLVE = define(by_program("LinearSolve", System, traits="own"))  # (b, captures of the matrix…) → x


class Unknowns:
    """The unknowns of a system: the leaves of a nest of tensors, as one vector. `what` names the function in errors."""

    def __init__(self, value: Any, what: str) -> None:
        self._nest = Nest(value)
        self._nest.leaves = [tensor(x) for x in self._nest.leaves]
        kinds = {x.dtype.name for x in self._nest.leaves}
        if len(kinds) != 1 or kinds - {"float32", "float64"}:
            received = ", ".join(sorted(kinds)) or "none"
            raise ValueError(f"tf.autodiff.{what} takes tensors that are all float32 or all float64, received {received}.")
        self.what, self.vector = what, self._flat(self._nest.leaves)
        operator.index(self.vector.node.aval.size)  # the size selects the solver, so a graph must know it

    def _flat(self, leaves: Sequence[Tensor]) -> Tensor:
        vectors = [reshape(x, (-1,)) for x in leaves]
        return vectors[0] if len(vectors) == 1 else concat(vectors, 0)

    def pack(self, vector: Tensor) -> Any:
        """Return a vector, or each row of a matrix, as a nest."""
        parts, start = [], 0
        for x in self._nest.leaves:
            parts.append(reshape(vector[..., start : start + x.node.aval.size], (*extents_of(vector)[:-1], *extents_of(x))))
            start += x.node.aval.size
        return self._nest.pack(parts)

    def square(self, pattern: Sparsity | None) -> Sparsity | None:
        """Return the user's pattern for a system of these unknowns, or None; raise an error if it has another shape."""
        n = self.vector.node.aval.size
        return None if pattern is None else stated(pattern, (n, n))

    def traced(
        self, f: Callable[..., Any], scalar: bool = False, moved: bool = False, timed: bool = False
    ) -> tuple[Program, list[Node]]:
        """Return the Program of a function of the unknowns, from a vector to a vector or a scalar, and its captures.

        `moved`: the result is the function minus its argument. `timed`: the function takes a time before the unknowns.
        """
        name = f"The function of tf.autodiff.{self.what}"
        if not callable(f):
            raise TypeError(f"tf.autodiff.{self.what} takes a function, received {f!r} of type {type(f).__name__}.")
        parameter = leaf(self.vector.node.aval, None)
        parameters = [*([leaf(aval((), self.vector.node.aval.dtype), None)] if timed else []), parameter]

        def run() -> Tensor:
            result = f(*map(EagerTensor, parameters[:-1]), self.pack(EagerTensor(parameter)))
            if not scalar:
                after = self._flat(self._nest.like(result, f"{name}: its result"))
                return after - EagerTensor(parameter) if moved else after
            result = tensor(result, self.vector.dtype)
            if result.ndim != 0:
                raise ValueError(
                    f"tf.autodiff.{self.what} needs a function that returns one scalar; it returned shape {result.shape}."
                )
            return result

        body = traced(run, parameters, name)
        return tracing.without_effects(body.program), list(body.inputs(parameters)[len(parameters) :])


def approximate(
    function: Program,
    b: Tensor,
    used: Sequence[Tensor],
    definite: bool = False,
    pattern: Sparsity | None = None,
    contracts: bool = False,
) -> tuple[Tensor, Tensor]:
    """Record ops that solve a system; return the solution, and whether the matrix is regular and the residual small.

    `definite`: the matrix must be symmetric and positive definite. If it is not, but small enough to be formed, the solution is
    NaN. `contracts`: fixed-point iteration is tried first.
    """
    n, eps = b.node.aval.size, float(np.finfo(b.dtype.as_numpy_dtype).eps)

    def product(x: Tensor) -> Tensor:
        return called(function, x, *used)

    if contracts:
        x, near = _repeated(product, b, eps)
        found: tuple[Tensor, Tensor] = cond(near, lambda: (x, tensor(True)), lambda: approximate(function, b, used))
        return found
    regular: Any = tensor(True)
    if pattern is not None:
        x = by_sparse_factors(function, b, used, pattern)
    elif n <= DENSE:
        matrix = called_on_rows(function, eye(n, dtype=b.dtype), [x.node for x in used])  # row i has column i
        if definite:
            x = cholesky_solve(cholesky(matrix), expand_dims(b, -1))[:, 0]
            return x, reduce_all(is_finite(x))
        size = reduce_max(abs(matrix), 0)
        size = where(size > 0.0, size, fill(extents_of(size), tensor(1.0, b.dtype)))
        factors, order = lu(transpose(matrix / size))
        x = lu_solve(factors, order, expand_dims(b / size, -1))[:, 0]
        x += lu_solve(factors, order, expand_dims((b - product(x)) / size, -1))[:, 0]
        pivots = abs(diag_part(factors))
        regular = reduce_min(pivots) > 10 * n * eps * reduce_max(pivots)
    else:
        x = _gmres(product, b, eps)
    return x, logical_and(regular, norm(b - product(x)) <= eps**0.5 * norm(b))


def _repeated(product: Callable[[Tensor], Tensor], b: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Record x ← (A + 1) x − b while each step is shorter by a fifth; return x, and whether its residual is small."""
    bound = ROUNDING * eps * norm(b)

    def goes_on(x: Any, r: Any, size: Any, before: Any) -> Any:
        return logical_and(size > bound, size < SHORTER * before)

    def step(x: Any, r: Any, size: Any, _: Any) -> Any:
        x -= r
        r = b - product(x)
        return x, r, norm(r), size

    start = (zeros(extents_of(b), b.dtype), b, norm(b), 2.0 * norm(b))
    x, _, size, _ = while_loop(goes_on, step, start, maximum_iterations=REPETITIONS)
    return x, size <= bound


def _gmres(product: Callable[[Tensor], Tensor], b: Tensor, eps: float) -> Tensor:
    """Record GMRES with restarts. Saad and Schultz, "GMRES: a generalized minimal residual algorithm" (1986), algorithm 4."""
    n, m, kind = b.node.aval.size, min(BASIS, b.node.aval.size), b.dtype
    bound = ROUNDING * eps * norm(b)

    def step(j: Any, basis: Any, columns: Any) -> Any:
        along = product(reshape(basis[j], (n,)))
        h, rest = tensor(0.0, kind), along
        for _ in range(2):  # twice, because rounding leaves a part
            found = multiply(basis, rest)
            h, rest = h + found, rest - multiply(basis, found, transpose_a=True)
        size = norm(rest)
        broken = size <= 10.0 * eps * norm(along)
        size = where(broken, tensor(0.0, kind), size)
        unit = where(broken, zeros((n,), kind), rest / where(broken, tensor(1.0, kind), size))
        behind = one_hot(j + 1, m + 1, dtype=kind)
        columns += expand_dims(one_hot(j, m, dtype=kind), 1) * (h + size * behind)
        return j + 1, basis + expand_dims(behind, 1) * unit, columns

    def cycle(i: Any, x: Any, r: Any, size: Any, _: Any) -> Any:
        basis = concat([expand_dims(r / size, 0), zeros((m, n), kind)], 0)
        _, basis, columns = while_loop(lambda j, *_: j < m, step, (0, basis, zeros((m, m + 1), kind)))
        weights = multiply(pinv(columns), size * one_hot(0, m + 1, dtype=kind), transpose_a=True)
        x += multiply(basis[:m], weights, transpose_a=True)
        r = b - product(x)
        return i + 1, x, r, norm(r), size

    def goes_on(i: Any, x: Any, r: Any, size: Any, before: Any) -> Any:
        return logical_and(i < CYCLES, logical_and(size > bound, size < 0.95 * before))

    start = (0, zeros((n,), kind), b, norm(b), 2.0 * norm(b))
    return while_loop(goes_on, cycle, start)[1]


def _status(x, found, what):
    """Return the message about a failed search. `found` is its status: found, residual, last step, number of steps."""
    if what == "sparse_solve":
        return (
            "tf.autodiff.sparse_solve found no solution: the Jacobian is singular to rounding, or the pattern misses entries of "
            "it, or there is NaN in its values. Find the pattern by tf.autodiff.jacobian_sparsity(f, x)."
        )
    if what == "linear_solve":
        return (
            "tf.autodiff.linear_solve found no solution: the matrix is singular to rounding, GMRES did not bring the residual "
            "down, or there is NaN in its values. Solve a regular system, or a preconditioned one."
        )
    if what == "times":
        return f"times must increase, received {x!s}. For times that decrease integrate -f(-t, y) at the negative times."
    _, residual, step, steps = found
    if what.startswith("odeint"):
        at = f"it ended at t = {residual:.6g} after {int(steps)} steps, the next of length {step:.3g}"
        if what == "odeint_event" and step > 0.0:
            at += "; or the event has the same sign all the way"
        return (
            f"tf.autodiff.{what} found no solution: {at}. Look for a pole or NaN of f there; else give more max_steps, or larger "
            "rtol and atol. Stiff equations need many steps."
        )
    return (
        f"tf.autodiff.{what} did not converge in {int(steps)} steps: the residual is {residual:.3g}, the last step {step:.3g}. "
        "Begin nearer to a solution, at which the derivative of the equations is regular, or give more max_steps or tolerance."
    )


@op(
    "ConvergedSolution", infer=lambda x, found, what: x, cheap=True, traits="own",
    refuses=lambda x, found, what: [(~(found[0] > 0), lambda: _status(x, found, what))],
)  # fmt: skip
def checked(x, found, *, what):
    """Return `x`; raise InvalidArgumentError if the search failed."""
    return x


@gradient(checked)
def _(dy):
    return dy, None


def solved(function: Program, inputs: Sequence[Node], pattern: Sparsity | None = None, contracts: bool = False) -> Tensor:
    """Record the solution of a system with the right side `inputs[0]`; NaN if the matrix is singular or the solver fails."""
    attrs = System(_solver(function, pattern, contracts), function, pattern, contracts)
    (node,) = engine.elements(engine.record(SOLVE, tuple(inputs), attrs))
    return EagerTensor(node)


@memoized
def _solver(function: Program, pattern: Sparsity | None, contracts: bool) -> Program:
    def solver(b: Tensor, *used: Tensor) -> list[Tensor]:
        x, ok = approximate(function, b, used, pattern=pattern, contracts=contracts)
        return [where(ok, x, fill(extents_of(x), tensor(np.nan, x.dtype)))]

    return built(solver, function.parameters[: arity(function)])


def finite(x: Tensor, what: str) -> Tensor:
    """Check that a solution is finite; NaN means that there is none."""
    result: Tensor = checked(x, stack([cast(reduce_all(is_finite(x)), x.dtype)]), what=what)
    return result


@gradient(SOLVE)
def _gradient(op: Operation, dx: Tensor) -> list[Any]:
    _, function, pattern, contracts = op.entry.node.attrs
    used = op.entry.inputs[1:]
    u = solved(adjoint_of(function), [dx.node, *used], pattern and pattern.transposed, contracts)
    return [u, *pulled_back(function, [op.outputs[0].node, *used], [-u], [False, *op.needed[1:]])[1:]]


@public
def linear_solve(matvec: Callable[[Any], Any], b: Any, pattern: Sparsity | None = None) -> Any:
    """Return the `x` with `matvec(x) = b`, with derivatives of any order to `b` and to what `matvec` uses, in both modes.

    `matvec`: a linear function, made of ops, from a nest like `b` to one like it. Tensors and variables that it uses are found.
    `b`: a tensor or a nest of tensors, all float32 or all float64; `x` has its structure. Up to 512 unknowns the matrix is
    formed and factorised; above GMRES multiplies only. `pattern`: that of a sparse matrix, from `jacobian_sparsity(matvec, b)`:
    then its sparse LU factors are used, whatever its size. InvalidArgumentError where the matrix is singular to rounding, and
    where the residual stays above the square root of the rounding error times `b`; in gradients NaN. ValueError for a `matvec`
    that is not linear or not pure, NotImplementedError for one that looks at values.

    >>> scale = tf.Variable(2.0)
    >>> with tf.GradientTape() as tape:
    ...     x = tf.autodiff.linear_solve(lambda x: scale * x, tf.constant([4.0, 8.0]))
    >>> x.numpy().tolist(), float(tape.gradient(x, scale))
    ([2.0, 4.0], -3.0)
    """
    unknowns = Unknowns(b, "linear_solve")
    function, used = unknowns.traced(matvec)
    pulled, _ = vjp_program(function, (0,), (0,))
    if any(-1 in key[2:] and not (key[0].of_shapes or key[0].structured) for key in pulled.keys):  # calls, loops count as linear
        raise ValueError(
            "matvec must be linear in its argument: its derivative depends on it. For equations see tf.autodiff.root."
        )
    x = solved(function, [unknowns.vector.node, *used], unknowns.square(pattern))
    return unknowns.pack(finite(x, "linear_solve"))
