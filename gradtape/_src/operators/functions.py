"""`tf.matmul`, `tf.linalg.solve` and other functions for linear operators, which call the operator's methods."""

from __future__ import annotations

from typing import Any

from gradtape._src.operators.base import LinearOperator
from gradtape._src.ops.dispatch import version
from gradtape._src.ops.linalg.diagonals import adjoint, diag_part, trace
from gradtape._src.ops.linalg.matmul import matmul, matvec
from gradtape._src.ops.linalg.systems import cholesky, det, inv, logdet, solve


def _of_method(function: Any, method: str) -> None:
    """Register a method without arguments as the version of a function of one matrix."""

    @version(LinearOperator, function)
    def call(*args: Any, **named: Any) -> Any:
        (operator,) = [value for value in (*args, *named.values()) if isinstance(value, LinearOperator)]
        return getattr(operator, method)()


_of_method(adjoint, "adjoint")
_of_method(cholesky, "cholesky")
_of_method(diag_part, "diag_part")
_of_method(trace, "trace")
_of_method(det, "determinant")
_of_method(logdet, "log_abs_determinant")


@version(LinearOperator, inv)
def _inv(input: LinearOperator, adjoint: bool = False) -> LinearOperator:
    inverse = input.inverse()
    return inverse.adjoint() if adjoint else inverse


@version(LinearOperator, solve)
def _solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    if not isinstance(matrix, LinearOperator):
        raise ValueError("Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported. Use rhs.to_dense().")
    return matrix.solve(rhs, adjoint=adjoint)


@version(LinearOperator, matmul)
def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    **stored: Any,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time: a linear operator has its adjoint. Use adjoint_a or adjoint_b.")
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b)
    return adjoint(b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a))  # A B = (Bᴴ Aᴴ)ᴴ


@version(LinearOperator, matvec)
def _matvec(a: LinearOperator, b: Any, transpose_a: bool = False, adjoint_a: bool = False, **stored: Any) -> Any:
    if transpose_a:
        raise ValueError("Transposing not supported at this time: a linear operator has its adjoint. Use adjoint_a.")
    return a.matvec(b, adjoint=adjoint_a)
