"""An operator plus an update of low rank."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.operators.base import LinearOperator
from gradtape._src.operators.dense import LinearOperatorFullMatrix
from gradtape._src.operators.diagonal import LinearOperatorDiag, LinearOperatorIdentity
from gradtape._src.operators.parts import broadcast_batches, parameter, reference, same_batch, shape_of
from gradtape._src.ops.linalg.diagonals import adjoint
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.linalg.systems import cholesky, cholesky_solve, slogdet, solve
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.reduction import reduce_sum


class LinearOperatorLowRankUpdate(LinearOperator):
    """The operator L + U D V*, for an operator L and matrices U, V of few columns; V is U by default.

    Systems are solved by the Woodbury formula, with L's solver and a matrix of the size of D.

    >>> base = tf.linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True)
    >>> operator = tf.linalg.LinearOperatorLowRankUpdate(base, [[1.0], [1.0]])
    >>> operator.to_dense().numpy().tolist()
    [[2.0, 1.0], [1.0, 3.0]]
    """

    _composite_tensor_fields = ("base_operator", "u", "diag_update", "v", "is_diag_update_positive")
    _experimental_parameter_ndims_to_matrix_ndims = {"base_operator": 0, "u": 2, "diag_update": 1, "v": 2}
    base_operator = parameter("base_operator", "The operator L.")
    u = parameter("u", "The matrices U.")
    v = parameter("v", "The matrices V.")
    diag_update = parameter("diag_update", "The diagonals D; None for the identity.")
    is_diag_update_positive = parameter("is_diag_update_positive", "Whether the diagonals D are positive.")

    @public
    def __init__(
        self,
        base_operator: Any,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        parameters = dict(locals())
        dtype = base_operator.dtype
        if diag_update is not None and is_diag_update_positive and dtype.is_complex:
            is_diag_update_positive = None
        self._base_operator = base_operator
        self._u = reference(u, "u", dtype)
        self._v = self._u if v is None else reference(v, "v", dtype)
        self._diag_update = None if diag_update is None else reference(diag_update, "diag_update", dtype)
        self._is_diag_update_positive = True if diag_update is None else is_diag_update_positive
        self._symmetric = v is None
        known = self._symmetric and base_operator.is_self_adjoint
        if known and self._is_diag_update_positive and base_operator.is_positive_definite:
            for hint, what in ((is_positive_definite, "positive definite"), (is_self_adjoint, "self-adjoint")):
                if hint is False:
                    raise ValueError(f"This operator is always {what}: the base and the update are.")
            is_positive_definite = True
        if known and (diag_update is None or not dtype.is_complex):
            is_self_adjoint = True if is_self_adjoint is None else is_self_adjoint
        self._begin(dtype, parameters, is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite)
        rows, found = base_operator._range_size, shape_of(self._u)
        if (found.rank is not None and found.rank < 2) or not found[-2:-1].is_compatible_with([rows]):
            raise ValueError(f"Shapes are not compatible: the operator has {rows} rows, u has shape {found}.")

    @property
    def diag_operator(self) -> LinearOperator:
        """The operator D."""
        if self._diag_update is None:
            return LinearOperatorIdentity(extents_of(self._u)[-1], dtype=self.dtype)
        return LinearOperatorDiag(self._diag_update, is_positive_definite=self._is_diag_update_positive)

    def _shape(self) -> TensorShape:
        base = self._base_operator._shape()
        parts = [shape_of(self._u)[:-2], shape_of(self._v)[:-2]]
        if self._diag_update is not None:
            parts.append(shape_of(self._diag_update)[:-1])
        return broadcast_batches(base[:-2], *parts).concatenate(base[-2:])

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        inner = self.diag_operator.matmul(matmul(right, x, adjoint_a=True), adjoint=adjoint)
        return self._base_operator.matmul(x, adjoint=adjoint) + matmul(left, inner)

    def _to_dense(self) -> Any:
        update = matmul(convert_to_tensor(self._u), self.diag_operator.matmul(adjoint(self._v)))
        return self._base_operator.to_dense() + update

    def _capacitance(self) -> Any:
        inner = matmul(self._v, self._base_operator.solve(self._u), adjoint_a=True)
        return self.diag_operator.inverse().add_to_tensor(inner)

    def _small_is_definite(self) -> bool:
        return bool(
            self._symmetric
            and self._base_operator.is_self_adjoint
            and self._base_operator.is_positive_definite
            and self._is_diag_update_positive
        )

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        base = self._base_operator
        if base.is_non_singular is False:
            raise ValueError("Solve not implemented unless this is a perturbation of a non-singular LinearOperator.")
        u, v = (self._v, self._u) if adjoint else (self._u, self._v)
        first = base.solve(rhs, adjoint=adjoint)
        inner = matmul(v, first, adjoint_a=True)
        small, inner = same_batch(self._capacitance(), inner)
        found = cholesky_solve(cholesky(small), inner) if self._small_is_definite() else solve(small, inner, adjoint=adjoint)
        return first - base.solve(matmul(u, found), adjoint=adjoint)

    def _determinant(self) -> Any:
        small = LinearOperatorFullMatrix(self._capacitance())
        return small.determinant() * self.diag_operator.determinant() * self._base_operator.determinant()

    def _log_abs_determinant(self) -> Any:
        small = self._capacitance()
        if self._small_is_definite():
            log_small = LinearOperatorFullMatrix(small, is_self_adjoint=True, is_positive_definite=True).log_abs_determinant()
        else:
            log_small = slogdet(small)[1]
        return log_small + self.diag_operator.log_abs_determinant() + self._base_operator.log_abs_determinant()

    def _diag_part(self) -> Any:
        scaled = convert_to_tensor(self._u) if self._diag_update is None else self._u * self._diag_update[..., None, :]
        return self._base_operator.diag_part() + reduce_sum(scaled * conj(self._v), axis=-1)
