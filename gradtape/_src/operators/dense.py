"""Operators of dense and of lower triangular matrices."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.operators import rules
from gradtape._src.operators.base import LinearOperator
from gradtape._src.operators.diagonal import LinearOperatorDiag
from gradtape._src.operators.parts import parameter, reference, same_batch, shape_of
from gradtape._src.operators.rules import rule
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.extents import shape as shape_tensor_of
from gradtape._src.ops.array.shape import expand_dims
from gradtape._src.ops.debugging.checks import assert_positive
from gradtape._src.ops.linalg.diagonals import band_part, diag_part
from gradtape._src.ops.linalg.systems import cholesky, triangular_solve
from gradtape._src.ops.math.arithmetic import abs
from gradtape._src.ops.math.elementary import log
from gradtape._src.ops.math.reduction import reduce_prod, reduce_sum


def _matrix(value: Any, name: str) -> Any:
    matrix = reference(value, name)
    rank = shape_of(matrix).rank
    if rank is not None and rank < 2:
        raise ValueError(f"Argument {name} must have at least 2 dimensions.  Found: {matrix}")
    return matrix


class LinearOperatorFullMatrix(LinearOperator):
    """A matrix, or a batch of them, given as a tensor.

    >>> tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]]).matvec([1.0, 1.0]).numpy()
    array([3., 7.], dtype=float32)
    """

    _composite_tensor_fields = ("matrix",)
    _experimental_parameter_ndims_to_matrix_ndims = {"matrix": 2}
    matrix = parameter("matrix", "The matrices.")

    @public
    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        parameters = dict(locals())
        self._matrix = _matrix(matrix, "matrix")
        self._begin(self._matrix.dtype, parameters)

    def _shape(self) -> TensorShape:
        return shape_of(self._matrix)

    def _shape_tensor(self) -> Any:
        return shape_tensor_of(self._matrix)

    def _to_dense(self) -> Any:
        return convert_to_tensor(self._matrix)


class LinearOperatorLowerTriangular(LinearOperator):
    """A lower triangular matrix, or a batch of them; elements above the diagonal of `tril` are ignored.

    >>> tf.linalg.LinearOperatorLowerTriangular([[1.0, 9.0], [2.0, 4.0]]).solvevec([1.0, 6.0]).numpy()
    array([1., 1.], dtype=float32)
    """

    _composite_tensor_fields = ("tril",)
    _experimental_parameter_ndims_to_matrix_ndims = {"tril": 2}
    tril = parameter("tril", "The matrices, with elements above the diagonal.")

    @public
    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        parameters = dict(locals())
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self._tril = _matrix(tril, "tril")
        self._begin(self._tril.dtype, parameters, is_square=True)

    def _shape(self) -> TensorShape:
        return shape_of(self._tril)

    def _shape_tensor(self) -> Any:
        return shape_tensor_of(self._tril)

    def _to_dense(self) -> Any:
        return band_part(self._tril, -1, 0)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        dense, right = same_batch(self.to_dense(), rhs)
        return triangular_solve(dense, right, lower=True, adjoint=adjoint)

    def _diag_part(self) -> Any:
        return diag_part(self._tril)

    def _determinant(self) -> Any:
        return reduce_prod(self._diag_part(), axis=-1)

    def _log_abs_determinant(self) -> Any:
        found = reduce_sum(log(abs(self._diag_part())), axis=-1)
        return cast(found, self.dtype) if self.dtype.is_complex else found

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _assert_non_singular(self) -> Any:
        return assert_positive(abs(self._diag_part()), message="Singular operator:  Diagonal contained zero values.")


@rule("cholesky", LinearOperator)
def _(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorLowerTriangular(
        cholesky(operator.to_dense()), is_non_singular=True, is_self_adjoint=False, is_square=True
    )


@rule("product", LinearOperatorDiag, LinearOperatorLowerTriangular)
def _(left: LinearOperatorDiag, right: LinearOperator) -> LinearOperator:
    entries = expand_dims(left.diag, -1) * right.to_dense()
    return LinearOperatorLowerTriangular(entries, is_non_singular=rules.invertible(left, right), is_square=True)


@rule("product", LinearOperatorLowerTriangular, LinearOperatorDiag)
def _(left: LinearOperator, right: LinearOperatorDiag) -> LinearOperator:
    entries = left.to_dense() * expand_dims(right.diag, -2)
    return LinearOperatorLowerTriangular(entries, is_non_singular=rules.invertible(left, right), is_square=True)
