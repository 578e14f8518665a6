"""Householder reflections, permutations, Toeplitz and tridiagonal operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.operators.base import LinearOperator
from gradtape._src.operators.parts import broadcast_batches, parameter, reference, same_batch, shape_of
from gradtape._src.operators.rules import rule
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.rearrange import reverse
from gradtape._src.ops.array.shape import broadcast_to, ones
from gradtape._src.ops.array.sort import argsort
from gradtape._src.ops.linalg.diagonals import diag
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.linalg.tridiagonal import as_compact, tridiagonal_matmul, tridiagonal_solve, turned
from gradtape._src.ops.math.compare import equal
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.reduction import reduce_sum


class LinearOperatorHouseholder(LinearOperator):
    """The reflection at the plane that is orthogonal to the vector `reflection_axis`.

    >>> tf.linalg.LinearOperatorHouseholder([1.0, 0.0]).matvec([2.0, 3.0]).numpy()
    array([-2.,  3.], dtype=float32)
    """

    _composite_tensor_fields = ("reflection_axis",)
    _experimental_parameter_ndims_to_matrix_ndims = {"reflection_axis": 1}
    reflection_axis = parameter("reflection_axis", "The normal vectors of the planes of reflection.")

    @public
    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        parameters = dict(locals())
        for hint, wanted, said in (
            (is_self_adjoint, True, "A Householder operator is always self adjoint."),
            (is_non_singular, True, "A Householder operator is always non-singular."),
            (is_positive_definite, False, "A Householder operator is always non-positive definite."),
            (is_square, True, "A Householder operator is always square."),
        ):
            if hint is not None and hint is not wanted:
                raise ValueError(said)
        self._reflection_axis = reference(reflection_axis, "reflection_axis")
        if shape_of(self._reflection_axis).rank == 0:
            raise ValueError("Argument reflection_axis must have at least 1 dimension.  Found: a scalar.")
        always = {"is_self_adjoint": True, "is_positive_definite": False, "is_square": True}
        self._begin(self._reflection_axis.dtype, parameters, **always)

    def _shape(self) -> TensorShape:
        shape = shape_of(self._reflection_axis)
        return shape.concatenate(shape[-1:])

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        axis = self._unit()[..., None]
        return x - 2.0 * axis * matmul(axis, x, adjoint_a=True)

    def _unit(self) -> Any:
        axis = convert_to_tensor(self._reflection_axis)
        squares = reduce_sum(axis * conj(axis), axis=-1, keepdims=True)
        return axis / squares**0.5

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._matmul(rhs)

    def _to_dense(self) -> Any:
        axis = self._unit()[..., None]
        identity = np.eye(extents_of(axis)[-2], dtype=self.dtype.as_numpy_dtype)
        return identity - 2.0 * matmul(axis, axis, adjoint_b=True)

    def _determinant(self) -> Any:
        return self._of_each(-1.0)

    def _log_abs_determinant(self) -> Any:
        return self._of_each(0.0)

    def _trace(self) -> Any:
        return self._of_each(cast(self._domain_size, self.dtype) - 2.0)

    def _diag_part(self) -> Any:
        axis = self._unit()
        return 1.0 - 2.0 * axis * conj(axis)

    def _eigvals(self) -> Any:
        whole = ones(self._shape().as_list()[:-1], self.dtype)
        return concat([-whole[..., :1], whole[..., 1:]], -1)

    def _cond(self) -> Any:
        return self._of_each(1.0)


class LinearOperatorPermutation(LinearOperator):
    """A permutation: row `i` of the result is row `perm[i]` of the argument.

    >>> tf.linalg.LinearOperatorPermutation([2, 0, 1]).matvec([10.0, 20.0, 30.0]).numpy()
    array([30., 10., 20.], dtype=float32)
    """

    _composite_tensor_fields = ("perm", "dtype")
    _experimental_parameter_ndims_to_matrix_ndims = {"perm": 1}
    perm = parameter("perm", "The permutation.")

    @public
    def __init__(
        self,
        perm: Any,
        dtype: Any = dtypes.float32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        parameters = dict(locals())
        if is_non_singular is False or is_square is False:
            raise ValueError("A Permutation operator is always non-singular and square.")
        self._perm = reference(perm, "perm")
        if not self._perm.dtype.is_integer:
            raise TypeError(f"Argument perm must be integer dtype.  Found: {self._perm}")
        if shape_of(self._perm).rank == 0:
            raise ValueError("Argument perm must have at least 1 dimension.  Found: a scalar.")
        self._begin(dtype, parameters, is_square=True)

    def _shape(self) -> TensorShape:
        shape = shape_of(self._perm)
        return shape.concatenate(shape[-1:])

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        perm = argsort(self._perm, axis=-1) if adjoint else convert_to_tensor(self._perm)
        x, perm = same_batch(x, perm[..., None])
        x = broadcast_to(x, extents_of(x))  # the gradient of a gather from the argument itself would be IndexedSlices
        return gather(x, perm[..., 0], axis=x.ndim - 2, batch_dims=x.ndim - 2)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._matmul(rhs, adjoint=not adjoint)

    def _to_dense(self) -> Any:
        perm = convert_to_tensor(self._perm)
        return cast(equal(perm[..., None], np.arange(extents_of(perm)[-1], dtype=perm.dtype.as_numpy_dtype)), self.dtype)

    def _diag_part(self) -> Any:
        perm = convert_to_tensor(self._perm)
        return cast(equal(perm, np.arange(extents_of(perm)[-1], dtype=perm.dtype.as_numpy_dtype)), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return self._of_each(0.0)

    def _cond(self) -> Any:
        return self._of_each(1.0)


class LinearOperatorToeplitz(LinearOperator):
    """A matrix whose diagonals are constant: its first column is `col`, its first row `row`.

    >>> tf.linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]).to_dense().numpy().tolist()
    [[1.0, 3.0], [2.0, 1.0]]
    """

    _composite_tensor_fields = ("col", "row")
    _experimental_parameter_ndims_to_matrix_ndims = {"col": 1, "row": 1}
    col = parameter("col", "The first columns.")
    row = parameter("row", "The first rows.")

    @public
    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        parameters = dict(locals())
        self._row, self._col = reference(row, "row"), reference(col, "col")
        for part, what in ((self._row, "row"), (self._col, "col")):
            if shape_of(part).rank == 0:
                raise ValueError(f"Argument {what} must have at least 1 dimension.  Found: a scalar.")
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        self._begin(self._row.dtype, parameters, is_square=True)

    def _shape(self) -> TensorShape:
        row, col = shape_of(self._row), shape_of(self._col)
        return broadcast_batches(row[:-1], col[:-1]).concatenate([col[-1], row[-1]])

    def _to_dense(self) -> Any:
        row, col = same_batch(convert_to_tensor(self._row), convert_to_tensor(self._col), rank=1)
        size = extents_of(row)[-1]
        entries = concat([reverse(row, [-1]), col[..., 1:]], -1)  # of the diagonals, from the upper right corner on
        places = np.arange(size)[:, None] - np.arange(size)[None, :] + size - 1
        return gather(entries, places, axis=-1)

    def _diag_part(self) -> Any:
        return broadcast_to(convert_to_tensor(self._col)[..., :1], self._shape().as_list()[:-1])


class LinearOperatorTridiag(LinearOperator):
    """A matrix of three diagonals; `diagonals` has one of the formats of `tf.linalg.tridiagonal_solve`.

    >>> operator = tf.linalg.LinearOperatorTridiag([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 3.0, 3.0]])
    >>> operator.to_dense().numpy().tolist()
    [[2.0, 1.0, 0.0], [3.0, 2.0, 1.0], [0.0, 3.0, 2.0]]
    """

    _composite_tensor_fields = ("diagonals", "diagonals_format")
    diagonals = parameter("diagonals", "The diagonals, as they were given.")
    diagonals_format = parameter("diagonals_format", "The format of the diagonals.")

    @public
    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        parameters = dict(locals())
        if diagonals_format not in ("matrix", "sequence", "compact"):
            raise ValueError(
                f"Argument `diagonals_format` must be one of `matrix`, `compact` or `sequence`. Found : {diagonals_format}"
            )
        if is_square is False:
            raise ValueError("Only square tridiagonal operators currently supported.")
        self._diagonals_format = diagonals_format
        if diagonals_format == "sequence":
            parts = [reference(part, "diagonals") for part in diagonals]
        else:
            parts = [reference(diagonals, "diagonals")]
        self._diagonals: Any = parts if diagonals_format == "sequence" else parts[0]
        self._begin(parts[0].dtype, parameters, is_square=True)

    def _shape(self) -> TensorShape:
        if self._diagonals_format == "matrix":
            return shape_of(self._diagonals)
        if self._diagonals_format == "compact":
            shape = shape_of(self._diagonals)
            return shape[:-2].concatenate([shape[-1], shape[-1]])
        shapes = [shape_of(part) for part in self._diagonals]
        return broadcast_batches(*(shape[:-1] for shape in shapes)).concatenate([shapes[1][-1], shapes[1][-1]])

    def _compact(self) -> Any:
        """Return the diagonals [..., 3, n]: above, on and below the main one."""
        given = self._diagonals
        if self._diagonals_format == "sequence":
            given = same_batch(*map(convert_to_tensor, given), rank=1)
        return as_compact(given, self._diagonals_format)

    def _to_dense(self) -> Any:
        if self._diagonals_format == "matrix":
            return convert_to_tensor(self._diagonals)
        return diag(self._compact(), k=(-1, 1), align="LEFT_RIGHT")

    def _applied(self, function: Any, x: Any, adjoint: bool) -> Any:
        diagonals = conj(turned(self._compact())) if adjoint else self._compact()
        return function(*same_batch(diagonals, x), diagonals_format="compact")

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        return self._applied(tridiagonal_matmul, x, adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._applied(tridiagonal_solve, rhs, adjoint)

    def _diag_part(self) -> Any:
        return self._compact()[..., 1, :]

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"diagonals": 1 if self._diagonals_format == "sequence" else 2}


@rule("adjoint", LinearOperatorHouseholder)
@rule("inverse", LinearOperatorHouseholder)
def _(operator: LinearOperatorHouseholder) -> LinearOperator:
    return operator
