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
from gradtape._src.operators.parts import broadcast_batches, reference, shape_of
from gradtape._src.operators.rules import rule
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.rearrange import reverse
from gradtape._src.ops.array.shape import broadcast_to, ones, squeeze, zeros
from gradtape._src.ops.array.sort import argsort
from gradtape._src.ops.linalg.diagonals import adjoint, diag, diag_part
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.linalg.tridiagonal import tridiagonal_matmul, tridiagonal_solve
from gradtape._src.ops.math.compare import equal
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.reduction import reduce_sum

dense_adjoint = adjoint


class LinearOperatorHouseholder(LinearOperator):
    """The reflection at the plane that is orthogonal to the vector `reflection_axis`.

    >>> tf.linalg.LinearOperatorHouseholder([1.0, 0.0]).matvec([2.0, 3.0]).numpy()
    array([-2.,  3.], dtype=float32)
    """

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
        super().__init__(self._reflection_axis.dtype, None, is_non_singular, True, False, True, name, parameters)

    @property
    def reflection_axis(self) -> Any:
        """The normal vectors of the planes of reflection."""
        return self._reflection_axis

    def _shape(self) -> TensorShape:
        shape = shape_of(self._reflection_axis)
        return shape.concatenate(shape[-1:])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = dense_adjoint(x) if adjoint_arg else x
        axis = self._unit()[..., None]
        return x - 2.0 * axis * matmul(axis, x, adjoint_a=True)

    def _unit(self) -> Any:
        axis = convert_to_tensor(self._reflection_axis)
        squares = reduce_sum(axis * (conj(axis) if axis.dtype.is_complex else axis), axis=-1, keepdims=True)
        return axis / squares**0.5

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Any:
        axis = self._unit()[..., None]
        identity = np.eye(extents_of(axis)[-2], dtype=self.dtype.as_numpy_dtype)
        return identity - 2.0 * matmul(axis, axis, adjoint_b=True)

    def _batch_of(self, value: float) -> Any:
        return cast(value, self.dtype) * ones(self.batch_shape.as_list(), self.dtype)

    def _determinant(self) -> Any:
        return self._batch_of(-1.0)

    def _log_abs_determinant(self) -> Any:
        return self._batch_of(0.0)

    def _trace(self) -> Any:
        return self._batch_of(float(self._domain_size or 0) - 2.0)

    def _diag_part(self) -> Any:
        axis = self._unit()
        return 1.0 - 2.0 * axis * (conj(axis) if axis.dtype.is_complex else axis)

    def _eigvals(self) -> Any:
        whole = ones(self.shape.as_list()[:-1], self.dtype)
        return concat([-whole[..., :1], whole[..., 1:]], -1)

    def _cond(self) -> Any:
        return self._batch_of(1.0)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("reflection_axis",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"reflection_axis": 1}


class LinearOperatorPermutation(LinearOperator):
    """A permutation: row `i` of the result is row `perm[i]` of the argument.

    >>> tf.linalg.LinearOperatorPermutation([2, 0, 1]).matvec([10.0, 20.0, 30.0]).numpy()
    array([30., 10., 20.], dtype=float32)
    """

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
        super().__init__(dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def perm(self) -> Any:
        """The permutation."""
        return self._perm

    def _shape(self) -> TensorShape:
        shape = shape_of(self._perm)
        return shape.concatenate(shape[-1:])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = dense_adjoint(x) if adjoint_arg else x
        perm = argsort(self._perm, axis=-1) if adjoint else convert_to_tensor(self._perm)
        batch = broadcast_batches(TensorShape(extents_of(x)[:-2]), TensorShape(extents_of(perm)[:-1])).as_list()
        x = broadcast_to(x, np.array([*batch, *extents_of(x)[-2:]], np.int32))
        perm = broadcast_to(perm, np.array([*batch, extents_of(perm)[-1]], np.int32))
        return gather(x, perm, axis=len(batch), batch_dims=len(batch))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _to_dense(self) -> Any:
        perm = convert_to_tensor(self._perm)
        return cast(equal(perm[..., None], np.arange(extents_of(perm)[-1], dtype=perm.dtype.as_numpy_dtype)), self.dtype)

    def _diag_part(self) -> Any:
        perm = convert_to_tensor(self._perm)
        return cast(equal(perm, np.arange(extents_of(perm)[-1], dtype=perm.dtype.as_numpy_dtype)), self.dtype)

    def _log_abs_determinant(self) -> Any:
        return zeros(self.batch_shape.as_list(), self.dtype)

    def _cond(self) -> Any:
        return ones(self.batch_shape.as_list(), self.dtype)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("perm", "dtype")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"perm": 1}


class LinearOperatorToeplitz(LinearOperator):
    """A matrix whose diagonals are constant: its first column is `col`, its first row `row`.

    >>> tf.linalg.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]).to_dense().numpy().tolist()
    [[1.0, 3.0], [2.0, 1.0]]
    """

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
        super().__init__(self._row.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def col(self) -> Any:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Any:
        """The first rows."""
        return self._row

    def _shape(self) -> TensorShape:
        row, col = shape_of(self._row), shape_of(self._col)
        return broadcast_batches(row[:-1], col[:-1]).concatenate([col[-1], row[-1]])

    def _to_dense(self) -> Any:
        batch = self.batch_shape.as_list()
        size = self._row.shape[-1]
        row = broadcast_to(self._row, np.array([*batch, size], np.int32))
        col = broadcast_to(self._col, np.array([*batch, size], np.int32))
        entries = concat([reverse(row, [-1]), col[..., 1:]], -1)  # of the diagonals, from the upper right corner on
        places = np.arange(size)[:, None] - np.arange(size)[None, :] + size - 1
        return gather(entries, places, axis=-1)

    def _diag_part(self) -> Any:
        return convert_to_tensor(self._col)[..., :1] + zeros(self.shape.as_list()[:-1], self.dtype)

    def _trace(self) -> Any:
        return reduce_sum(self._diag_part(), axis=-1)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("col", "row")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"col": 1, "row": 1}


class LinearOperatorTridiag(LinearOperator):
    """A matrix of three diagonals; `diagonals` has one of the formats of `tf.linalg.tridiagonal_solve`.

    >>> operator = tf.linalg.LinearOperatorTridiag([[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 3.0, 3.0]])
    >>> operator.to_dense().numpy().tolist()
    [[2.0, 1.0, 0.0], [3.0, 2.0, 1.0], [0.0, 3.0, 2.0]]
    """

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
        dtype = parts[0].dtype
        super().__init__(dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    @property
    def diagonals(self) -> Any:
        """The diagonals, as they were given."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """The format of the diagonals."""
        return self._diagonals_format

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
        if self._diagonals_format == "compact":
            return convert_to_tensor(self._diagonals)
        if self._diagonals_format == "matrix":
            return diag_part(self._diagonals, k=(-1, 1), align="LEFT_RIGHT")
        batch, size = self.batch_shape.as_list(), self.shape[-1]
        upper, main, lower = (convert_to_tensor(part) for part in self._diagonals)
        pad = zeros([*batch, 1], self.dtype)
        whole = [broadcast_to(part, np.array([*batch, extents_of(part)[-1]], np.int32)) for part in (upper, main, lower)]
        if extents_of(whole[0])[-1] == size - 1:
            whole[0] = concat([whole[0], pad], -1)
        if extents_of(whole[2])[-1] == size - 1:
            whole[2] = concat([pad, whole[2]], -1)
        return concat([part[..., None, :] for part in whole], -2)

    def _to_dense(self) -> Any:
        if self._diagonals_format == "matrix":
            return convert_to_tensor(self._diagonals)
        return diag(self._compact(), k=(-1, 1), align="LEFT_RIGHT")

    def _turned(self, turned: bool) -> Any:
        """Return the diagonals, or those of the adjoint if `turned`."""
        diagonals = self._compact()
        if not turned:
            return diagonals
        upper, main, lower = diagonals[..., 0, :], diagonals[..., 1, :], diagonals[..., 2, :]
        pad = zeros([*extents_of(upper)[:-1], 1], self.dtype)
        rows = [concat([lower[..., 1:], pad], -1), main, concat([pad, upper[..., :-1]], -1)]
        whole = concat([row[..., None, :] for row in rows], -2)
        return conj(whole) if self.dtype.is_complex else whole

    def _applied(self, function: Any, x: Any, turned: bool) -> Any:
        diagonals = self._turned(turned)
        batch = broadcast_batches(TensorShape(extents_of(diagonals)[:-2]), TensorShape(extents_of(x)[:-2])).as_list()
        diagonals = broadcast_to(diagonals, np.array([*batch, *extents_of(diagonals)[-2:]], np.int32))
        return function(diagonals, broadcast_to(x, np.array([*batch, *extents_of(x)[-2:]], np.int32)), diagonals_format="compact")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._applied(tridiagonal_matmul, dense_adjoint(x) if adjoint_arg else x, adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._applied(tridiagonal_solve, dense_adjoint(rhs) if adjoint_arg else rhs, adjoint)

    def _diag_part(self) -> Any:
        return squeeze(self._compact()[..., 1:2, :], -2)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("diagonals", "diagonals_format")

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"diagonals": 1 if self._diagonals_format == "sequence" else 2}


@rule("adjoint", LinearOperatorHouseholder)
@rule("inverse", LinearOperatorHouseholder)
def _(operator: LinearOperatorHouseholder) -> LinearOperator:
    return operator
