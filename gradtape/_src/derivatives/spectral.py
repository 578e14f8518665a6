"""Functions of a matrix by its eigenvalues or singular values, differentiable also where these are equal.

F(A) = V f(w) Vᴴ has derivatives in Hermitian directions E₁, …, Eₖ. In the basis V they are sums over products of the directions
with divided differences of f at the eigenvalues w. Daleckii and Krein (1965); Higham, "Functions of Matrices" (2008), theorem
3.11. The number ⟨G, Dᵏ F(A)[E₁, …, Eₖ]⟩ is symmetric in G and all Eᵢ. So the cotangents of such a derivative are again such
derivatives: for Eᵢ with G in its place, and for A with G as an additional direction.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gradtape._src.autodiff.backward import Operation, jvp_program, vjp_program
from gradtape._src.autodiff.vectorized import called_on_rows
from gradtape._src.core.base.errors import invalid_dtype
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient
from gradtape._src.core.engine import engine, execution, tracing
from gradtape._src.core.programs.op import define
from gradtape._src.core.programs.program import Node, Program, leaf, memoized
from gradtape._src.core.programs.structured import arity, by_program
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import EagerTensor, Tensor, extents_of
from gradtape._src.core.values.aval import Aval, aval
from gradtape._src.derivatives.divided_differences import divided_differences
from gradtape._src.derivatives.evaluation import traced
from gradtape._src.derivatives.slopes import gradient_of
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import ones_like, zeros_like
from gradtape._src.ops.array.extents import shape
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import expand_dims, reshape, zeros
from gradtape._src.ops.linalg.decompositions import eigh
from gradtape._src.ops.linalg.diagonals import adjoint, trace as trace_of
from gradtape._src.ops.linalg.einsum import einsum
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.linalg.systems import check_matrix, hermitian, square
from gradtape._src.ops.math.arithmetic import add_n
from gradtape._src.ops.math.compare import less
from gradtape._src.ops.math.complex import real

# ---------------------------------------------------------------------------------------------------------------------
# The derivatives of a function of Hermitian matrices, and the cotangents of its captures


class Derivative(NamedTuple):
    """The attributes of a spectral derivative: its `program`, the scalar `function`, and the number of `directions`."""

    program: Program
    function: Program
    directions: int


# (A, directions…, captures…) → the derivative; (A, directions…, captures…, dy) → the cotangents of the captures
DERIVATIVE = define(by_program("SpectralDerivative", Derivative, traits="own"))
COTANGENTS = define(by_program("SpectralCotangents", Derivative, traits="own"))


def _derivative(function: Program, inputs: Sequence[Node], directions: int) -> Tensor:
    """Record the derivative of a function of `inputs[0]` along the next `directions` inputs; the others are its captures."""
    attrs = Derivative(_program(function, directions, *[n.aval for n in inputs]), function, directions)
    (node,) = engine.elements(engine.record(DERIVATIVE, tuple(inputs), attrs))
    return EagerTensor(node)


@memoized
def _program(function: Program, directions: int, *inputs: Aval) -> Program:
    """Return the Program of a spectral derivative, made of ops."""

    def derivative(*given: Node) -> list[Node]:
        a, *along = map(EagerTensor, given[: 1 + directions])
        return [_by_differences(function, a, along, given[1 + directions :]).node]

    return tracing.program_of(derivative, inputs)


def _by_differences(function: Program, a: Tensor, directions: Sequence[Tensor], used: Sequence[Node]) -> Tensor:
    """Return V Y Vᴴ, where Y is the sum over the orders of the directions of f[wᵢ, …, wⱼ] · Eᵢₖ ⋯ Eₗⱼ."""
    w, v = eigh(a)
    order = len(directions)

    def values(j: int, points: Tensor) -> Tensor:
        nth = function
        for _ in range(j):
            nth = gradient_of(nth)
        return reshape(called_on_rows(nth, reshape(points, (-1,)), used), shape(points))

    differences = cast(divided_differences(values, real(w), order), a.dtype)
    if not order:
        return matmul(v * expand_dims(differences, -2), v, adjoint_b=True)
    turned = [matmul(matmul(v, e, adjoint_a=True), v) for e in directions]
    places = "abcdefghijklmnopqrstuvwxyz"[: order + 1]
    pairs = [f"...{i}{j}" for i, j in itertools.pairwise(places)]
    equation = f"...{places},{','.join(pairs)}->...{places[0]}{places[-1]}"
    terms = [einsum(equation, differences, *chosen) for chosen in itertools.permutations(turned)]
    return matmul(matmul(v, add_n(terms)), v, adjoint_b=True)


def _used(function: Program) -> tuple[tuple[int, ...], Program]:
    """Return the further parameters by which a scalar function has derivatives, and the Program of their cotangents."""
    candidates = tuple([i for i in range(1, arity(function)) if function.parameters[i].inexact])
    pulled, where = vjp_program(function, (0,), candidates)
    return tuple([i for i, place in zip(candidates, where, strict=True) if place is not None]), pulled


def _pulled(function: Program, inputs: Sequence[Node], directions: int, dy: Tensor, needed: Sequence[bool]) -> list[Any]:
    """Return the cotangents of the inputs of a spectral derivative."""
    results: list[Any] = [None] * len(inputs)
    seed = ((dy + adjoint(dy)) * 0.5).node
    used = inputs[1 + directions :]
    if needed[0]:
        results[0] = _derivative(function, [*inputs[: 1 + directions], seed, *used], directions + 1)
    for i in range(1, 1 + directions):
        if needed[i]:
            results[i] = _derivative(function, [*inputs[:i], seed, *inputs[i + 1 :]], directions)
    places, _ = _used(function)
    if places and any(needed[1 + directions :]):
        program = _program(function, directions, *[n.aval for n in inputs])
        pulled, _ = vjp_program(program, (0,), tuple([directions + i for i in places]))
        attrs = Derivative(execution.intern(pulled), function, directions)
        nodes = engine.elements(engine.record(COTANGENTS, (*inputs, dy.node), attrs))
        for i, node in zip(places, nodes, strict=True):
            results[directions + i] = EagerTensor(node)
    return results


@gradient(DERIVATIVE)
def _derivative_gradient(op: Operation, dy: Tensor) -> list[Any]:
    _, function, directions = op.entry.node.attrs
    return _pulled(function, op.entry.inputs, directions, dy, op.needed)


@gradient(COTANGENTS)
def _cotangents_gradient(op: Operation, *tangents: Tensor) -> list[Any]:
    """Return the cotangents of ⟨dy, derivative along the tangents of the function's captures⟩."""
    _, function, directions = op.entry.node.attrs
    *inputs, dy = op.entry.inputs
    places, _ = _used(function)
    moving = jvp_program(function, places, 1)
    extended = [*inputs, *[t.node for t in tangents]]
    needed = [*op.needed[:-1], *[False] * len(tangents)]
    results = _pulled(moving, extended, directions, EagerTensor(dy), needed)[: len(inputs)]
    return [*results, _derivative(moving, extended, directions) if op.needed[-1] else None]


# ---------------------------------------------------------------------------------------------------------------------
# Public functions


def _traced(f: Callable[[Tensor], Any], kind: Any) -> tuple[Program, list[Node]]:
    """Return the Program of a scalar function of a scalar, and its captures."""
    if not callable(f):
        raise TypeError(f"The first argument must be a function of numbers, received {f!r} of type {type(f).__name__}.")
    parameter = leaf(aval((), kind), None)

    def run() -> Tensor:
        y = tensor(f(EagerTensor(parameter)), kind)
        if y.ndim != 0:
            raise ValueError(
                f"f must return one number for each eigenvalue or singular value: it is called with a scalar, and returned shape "
                f"{y.shape}."
            )
        return y

    body = traced(run, [parameter], "f")
    return body.program, list(body.inputs([parameter])[1:])


def _matrices(x: Any) -> Tensor:
    x = tensor(x)
    check_matrix(x.node.aval)
    if x.node.aval.dtype.itemsize < 4:
        raise invalid_dtype(f"Eigenvalues of {x.dtype.name} are too coarse here: cast to float32.")
    return x


@public
def eigenvalue_function(f: Callable[[Tensor], Any], x: Any) -> Tensor:
    """Return the function `V f(w) Vᴴ` of Hermitian matrices `V w Vᴴ`, with derivatives of any order wherever f has them.

    `f`: a function of scalar tensors, made of ops, real. It is traced, and applied to each eigenvalue; variables and tensors
    that it uses are differentiated, too. `x`: [..., n, n], float32, float64 or complex; only the lower triangle is read, and gets
    the gradient. Unlike a product of the results of `tf.linalg.eigh`, which has no derivative at equal eigenvalues, this has
    one: it is computed by divided differences of f (Daleckii and Krein; Higham, "Functions of Matrices", 2008, theorem 3.11).
    The k-th derivative takes n^(k+1) numbers. InvalidArgumentError for `x` that is not square; ValueError for an f that does not
    return one number; NotImplementedError for one that looks at values.

    >>> x = tf.eye(2)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.autodiff.eigenvalue_function(tf.math.log, x)[1, 0]
    >>> tape.gradient(y, x).numpy().round(4).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    x = _matrices(x)
    square(x.node.aval)
    function, used = _traced(f, x.node.aval.dtype if not x.dtype.is_complex else x.dtype.real_dtype.numpy)
    if not x.node.aval.size:
        return x
    return _derivative(function, [hermitian(x).node, *used], 0)


@public
def eigenvalue_sum(f: Callable[[Tensor], Any], x: Any) -> Tensor:
    """Return the sum of `f` over the eigenvalues of Hermitian matrices: [...], real. See `eigenvalue_function`.

    Its derivatives of any order exist at equal eigenvalues, where second derivatives of `tf.linalg.eigvalsh` do not.

    >>> x = tf.eye(2)
    >>> hessian = tf.autodiff.hessian(lambda x: tf.autodiff.eigenvalue_sum(tf.square, x), x)
    >>> (hessian.numpy().reshape(4, 4).round(4) + 0.0).tolist()
    [[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 2.0]]
    """
    return real(trace_of(eigenvalue_function(f, x)))


def _dilated(x: Tensor) -> Tensor:
    """Return [[0, x], [xᴴ, 0]], whose eigenvalues are the singular values of `x`, their negatives, and zeros."""
    m, n = extents_of(x)[-2:]
    batch = tuple(extents_of(x)[:-2])
    above = concat([zeros((*batch, m, m), x.dtype), x], -1)
    return concat([above, concat([adjoint(x), zeros((*batch, n, n), x.dtype)], -1)], -2)


def _of_size(f: Callable[[Tensor], Any], odd: bool) -> Callable[[Tensor], Any]:
    """Return f of the absolute value, with its sign if `odd`; the derivatives at 0 are those from above."""

    def extended(w: Tensor) -> Any:
        sign = where(less(w, zeros_like(w)), -ones_like(w), ones_like(w))
        return sign * f(sign * w) if odd else f(sign * w)

    return extended


@public
def singular_value_function(f: Callable[[Tensor], Any], x: Any) -> Tensor:
    """Return `U f(s) Vᴴ` for matrices `U s Vᴴ`, [..., m, n], with derivatives at equal singular values.

    It is the `eigenvalue_function` of [[0, x], [xᴴ, 0]], at eight times the work. At singular values of 0 derivatives exist
    where those of f, continued as an odd function, do. With f = 1 it is the nearest matrix with orthonormal columns or rows.

    >>> x = tf.constant([[0.0, 2.0], [-2.0, 0.0]])
    >>> tf.autodiff.singular_value_function(tf.ones_like, x).numpy().round(4) + 0.0
    array([[ 0.,  1.],
           [-1.,  0.]], dtype=float32)
    """
    x = _matrices(x)
    return eigenvalue_function(_of_size(f, odd=True), _dilated(x))[..., : extents_of(x)[-2], extents_of(x)[-2] :]


@public
def singular_value_sum(f: Callable[[Tensor], Any], x: Any) -> Tensor:
    """Return the sum of `f` over the singular values of matrices [..., m, n]: [...], real. See `singular_value_function`.

    Derivatives at singular values of 0 exist where those of f, continued as an even function, do. If m and n differ f must be
    finite at 0.

    >>> round(float(tf.autodiff.singular_value_sum(tf.identity, tf.constant([[3.0, 0.0], [0.0, 4.0]]))), 4)
    7.0
    """
    x = _matrices(x)
    m, n = extents_of(x)[-2:]
    total = eigenvalue_sum(_of_size(f, odd=False), _dilated(x))
    if m != n:
        total = total - abs(m - n) * tensor(f(zeros((), total.dtype)), total.dtype)
    return total / 2.0
