"""Diagonal and zero operators."""

from __future__ import annotations

from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import convert_to_tensor, static, static_list
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.operators import rules
from gradtape._src.operators.base import LinearOperator
from gradtape._src.operators.parts import broadcast_batches, in_batch, parameter, reference, shape_of
from gradtape._src.operators.rules import rule
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import zeros_like
from gradtape._src.ops.array.extents import shape as shape_tensor_of
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import broadcast_to, expand_dims, zeros
from gradtape._src.ops.debugging.checks import assert_equal, assert_greater, assert_positive
from gradtape._src.ops.linalg.diagonals import diag, diag_part, set_diag
from gradtape._src.ops.math.arithmetic import abs, sqrt
from gradtape._src.ops.math.complex import conj, imag, real
from gradtape._src.ops.math.elementary import log
from gradtape._src.ops.math.reduction import reduce_max, reduce_min, reduce_prod, reduce_sum


class LinearOperatorDiag(LinearOperator):
    """A diagonal matrix, or a batch of them, from the vectors `diag`.

    >>> tf.linalg.LinearOperatorDiag([2.0, 4.0]).solvevec([2.0, 2.0]).numpy()
    array([1. , 0.5], dtype=float32)
    """

    _composite_tensor_fields = ("diag",)
    _experimental_parameter_ndims_to_matrix_ndims = {"diag": 1}
    diag = parameter("diag", "The diagonals.")

    @public
    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        parameters = dict(locals())
        self._diag = reference(diag, "diag")
        if shape_of(self._diag).rank == 0:
            raise ValueError("Argument diag must have at least 1 dimension.  Found: a scalar.")
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        self._begin(self._diag.dtype, parameters, is_self_adjoint=is_self_adjoint, is_square=True)

    def _shape(self) -> TensorShape:
        shape = shape_of(self._diag)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        extents = shape_tensor_of(self._diag)
        return concat([extents, extents[-1:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        return expand_dims(self._entries(adjoint), -1) * x

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._entries(adjoint) * x

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return rhs * expand_dims(1.0 / self._entries(adjoint), -1)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return rhs / self._entries(adjoint)

    def _entries(self, adjoint: bool) -> Any:
        return conj(self._diag) if adjoint else convert_to_tensor(self._diag)

    def _to_dense(self) -> Any:
        return diag(self._diag)

    def _diag_part(self) -> Any:
        return convert_to_tensor(self._diag)

    def _determinant(self) -> Any:
        return reduce_prod(self._diag, axis=-1)

    def _log_abs_determinant(self) -> Any:
        found = reduce_sum(log(abs(self._diag)), axis=-1)
        return cast(found, self.dtype) if self.dtype.is_complex else found

    def _add_to_tensor(self, x: Any) -> Any:
        x = in_batch(x, self._batch_extents)
        return set_diag(x, diag_part(x) + self._diag)

    def _eigvals(self) -> Any:
        return convert_to_tensor(self._diag)

    def _cond(self) -> Any:
        sizes = abs(self._diag)
        return reduce_max(sizes, axis=-1) / reduce_min(sizes, axis=-1)

    def _assert_non_singular(self) -> Any:
        return assert_positive(abs(self._diag), message="Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self) -> Any:
        message = "Diagonal operator had diagonal entries with non-positive real part, thus was not positive definite."
        return assert_positive(real(self._diag), message=message)

    def _assert_self_adjoint(self) -> Any:
        message = "This diagonal operator contained non-zero imaginary values.  Thus it was not self-adjoint."
        return assert_equal(imag(self._diag), zeros_like(real(self._diag)), message=message)


def _extent(value: Any, name: str) -> Any:
    """Return an extent that is an argument; ValueError for a vector or a negative number."""
    if getattr(value, "ndim", 0) != 0:
        raise ValueError(f"Argument {name} must be a 0-D Tensor.  Found: {value}")
    found = static(value, name)
    if found < 0:
        raise ValueError(f"Argument {name} must be non-negative.  Found: {value}")
    return found


class _OfNumbers(LinearOperator):
    """Base of operators made of no tensor, whose batch is given by its shape."""

    _batch: Any

    def _prepare_batch(self, batch_shape: Any) -> None:
        self._batch = () if batch_shape is None else static_list(batch_shape, "batch_shape")
        if any(extent < 0 for extent in self._batch):
            raise ValueError(f"Argument batch_shape must be non-negative.  Found: {batch_shape}")

    @public
    def __getitem__(self, slices: Any) -> LinearOperator:
        return type(self)(**self.parameters | {"batch_shape": zeros(list(self._batch))[slices].shape.as_list()})


class _Scaled(LinearOperator):
    """Base of multiples of the identity; `_scale()` returns the factors."""

    _num_rows: Any

    def _prepare(self, num_rows: Any) -> None:
        self._num_rows = num_rows
        self._rows = _extent(num_rows, "num_rows")

    def _scale(self, adjoint: bool = False) -> Any:
        raise NotImplementedError

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        return in_batch(x * self._scale(adjoint)[..., None, None], self._batch_extents)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return in_batch(rhs / self._scale(adjoint)[..., None, None], self._batch_extents)

    def _diag_part(self) -> Any:
        return broadcast_to(self._scale()[..., None], self._shape().as_list()[:-1])

    def _to_dense(self) -> Any:
        return diag(self._diag_part())

    def _add_to_tensor(self, x: Any) -> Any:
        x = in_batch(x, self._batch_extents)
        return set_diag(x, diag_part(x) + self._scale()[..., None])

    def _trace(self) -> Any:
        return self._of_each(self._scale() * cast(self._rows, self.dtype))

    def _determinant(self) -> Any:
        return self._of_each(self._scale() ** cast(self._rows, self.dtype))

    def _log_abs_determinant(self) -> Any:
        return self._of_each(log(size := abs(self._scale())) * cast(self._rows, size.dtype))

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _cond(self) -> Any:
        size = abs(self._scale())
        return self._of_each(size / size)


class LinearOperatorIdentity(_OfNumbers, _Scaled):
    """The identity of `num_rows` rows, or a batch of it.

    >>> tf.linalg.LinearOperatorIdentity(2).matvec([1.0, 2.0]).numpy()
    array([1., 2.], dtype=float32)
    """

    _composite_tensor_fields = ("num_rows", "batch_shape", "dtype", "assert_proper_shapes")

    @public
    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        parameters = dict(locals())
        if not (is_self_adjoint and is_non_singular and is_positive_definite):
            raise ValueError("An identity operator is always self-adjoint, non-singular and positive definite.")
        if not is_square:
            raise ValueError("An identity operator is always square.")
        self._prepare_batch(batch_shape)
        self._prepare(num_rows)
        self._begin(dtype, parameters)

    def _scale(self, adjoint: bool = False) -> Any:
        return convert_to_tensor(1, self.dtype)

    def _shape(self) -> TensorShape:
        return TensorShape([*self._batch, self._rows, self._rows])

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        return in_batch(x, self._batch_extents)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._matmul(rhs)

    def _assert_nothing(self) -> Any:
        return None

    _assert_non_singular = _assert_positive_definite = _assert_self_adjoint = _assert_nothing


class LinearOperatorScaledIdentity(_Scaled):
    """The identity of `num_rows` rows, times the batch of scalars `multiplier`.

    >>> tf.linalg.LinearOperatorScaledIdentity(2, 3.0).matvec([1.0, 2.0]).numpy()
    array([3., 6.], dtype=float32)
    """

    _composite_tensor_fields = ("num_rows", "multiplier", "assert_proper_shapes")
    _experimental_parameter_ndims_to_matrix_ndims = {"multiplier": 0}
    multiplier = parameter("multiplier", "The factors.")

    @public
    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        parameters = dict(locals())
        self._multiplier = reference(multiplier, "multiplier")
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        self._prepare(num_rows)
        self._begin(self._multiplier.dtype, parameters, is_self_adjoint=is_self_adjoint)

    def _scale(self, adjoint: bool = False) -> Any:
        return conj(self._multiplier) if adjoint else convert_to_tensor(self._multiplier)

    def _shape(self) -> TensorShape:
        return shape_of(self._multiplier).concatenate([self._rows, self._rows])

    def _assert_non_singular(self) -> Any:
        return assert_positive(abs(self._multiplier), message="LinearOperator was singular")

    def _assert_positive_definite(self) -> Any:
        return assert_positive(real(self._multiplier), message="LinearOperator was not positive definite.")

    def _assert_self_adjoint(self) -> Any:
        message = "LinearOperator was not self-adjoint"
        return assert_equal(imag(self._multiplier), zeros_like(real(self._multiplier)), message=message)


class LinearOperatorZeros(_OfNumbers):
    """A matrix of zeros, or a batch of it.

    >>> tf.linalg.LinearOperatorZeros(2, 3, is_square=False, is_self_adjoint=False).matvec([1.0, 2.0, 3.0]).numpy()
    array([0., 0.], dtype=float32)
    """

    _composite_tensor_fields = ("num_rows", "num_columns", "batch_shape", "dtype", "assert_proper_shapes")

    @public
    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        parameters = dict(locals())
        if is_non_singular or is_non_singular is None:
            raise ValueError("A zero operator is always non-invertible.")
        if is_self_adjoint is False and is_square:
            raise ValueError("A zero operator is always self-adjoint.")
        if is_positive_definite or is_positive_definite is None:
            raise ValueError("A zero operator is always not positive-definite.")
        columns = num_rows if num_columns is None else num_columns
        self._extents = rows, columns = _extent(num_rows, "num_rows"), _extent(columns, "num_columns")
        if is_square and rows != columns:
            raise ValueError(
                f"LinearOperatorZeros initialized as is_square=True, but got num_rows({rows}) != num_columns({columns}). Pass "
                "is_square=False and is_self_adjoint=False."
            )
        self._prepare_batch(batch_shape)
        self._begin(dtype, parameters)

    def _shape(self) -> TensorShape:
        return TensorShape([*self._batch, *self._extents])

    def _to_dense(self) -> Any:
        return zeros(self._shape().as_list(), self.dtype)

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        batch = broadcast_batches(TensorShape(extents_of(x)[:-2]), self._batch_extents)
        return zeros([*batch.as_list(), self._extents[1 if adjoint else 0], extents_of(x)[-1]], self.dtype)

    def _diag_part(self) -> Any:
        return zeros([*self._batch, min(self._extents)], self.dtype)

    def _trace(self) -> Any:
        return self._of_each(0.0)

    def _determinant(self) -> Any:
        return self._of_each(0.0)

    def _log_abs_determinant(self) -> Any:
        return log(self._of_each(0.0))

    def _add_to_tensor(self, x: Any) -> Any:
        return in_batch(x, self._batch_extents)

    def _eigvals(self) -> Any:
        return self._diag_part()

    def _assert_non_singular(self) -> Any:
        return assert_greater(0, 0, message="Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Any:
        return assert_greater(0, 0, message="Zero operators are always non-positive definite.")


@rule("adjoint", LinearOperatorDiag)
def _(operator: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(conj(operator.diag), **rules.hints_of(operator))


@rule("adjoint", LinearOperatorIdentity)
@rule("inverse", LinearOperatorIdentity)
@rule("cholesky", LinearOperatorIdentity)
def _(operator: LinearOperatorIdentity) -> LinearOperator:
    return operator


@rule("adjoint", LinearOperatorScaledIdentity)
def _(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(operator._num_rows, conj(operator.multiplier), **rules.hints_of(operator))


@rule("adjoint", LinearOperatorZeros)
def _(operator: LinearOperatorZeros) -> LinearOperator:
    rows, columns = operator._extents
    return LinearOperatorZeros(columns, rows, operator._batch, operator.dtype, **rules.hints_of(operator))


@rule("inverse", LinearOperatorDiag)
def _(operator: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(1.0 / operator.diag, **rules.hints_of(operator))


@rule("inverse", LinearOperatorScaledIdentity)
def _(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(operator._num_rows, 1.0 / operator.multiplier, **rules.hints_of(operator))


@rule("cholesky", LinearOperatorDiag)
def _(operator: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(
        sqrt(operator.diag), is_non_singular=True, is_self_adjoint=True, is_positive_definite=True, is_square=True
    )


@rule("cholesky", LinearOperatorScaledIdentity)
def _(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        operator._num_rows, sqrt(operator.multiplier), is_non_singular=True, is_self_adjoint=True, is_positive_definite=True
    )


@rule("product", LinearOperatorIdentity, LinearOperator)
def _(left: LinearOperatorIdentity, right: LinearOperator) -> LinearOperator:
    return right


@rule("product", LinearOperator, LinearOperatorIdentity)
@rule("product", LinearOperatorIdentity, LinearOperatorIdentity)
def _(left: LinearOperator, right: LinearOperatorIdentity) -> LinearOperator:
    return left


@rule("product", LinearOperatorZeros, LinearOperator)
@rule("product", LinearOperator, LinearOperatorZeros)
@rule("product", LinearOperatorZeros, LinearOperatorZeros)
@rule("product", LinearOperatorIdentity, LinearOperatorZeros)
@rule("product", LinearOperatorZeros, LinearOperatorIdentity)
def _(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    rows, columns = left._range_size, right._domain_size
    batch = broadcast_batches(left._batch_extents, right._batch_extents)
    square = rows == columns
    return LinearOperatorZeros(rows, columns, batch.as_list(), left.dtype, is_self_adjoint=square, is_square=square)


def _hints(left: LinearOperator, right: LinearOperator) -> dict[str, Any]:
    """Return the hints of a product of operators that commute."""
    return {
        "is_non_singular": rules.invertible(left, right),
        "is_self_adjoint": rules.both("is_self_adjoint", left, right),
        "is_positive_definite": rules.both("is_positive_definite", left, right) and rules.both("is_self_adjoint", left, right),
    }


@rule("product", LinearOperatorDiag, LinearOperatorDiag)
def _(left: LinearOperatorDiag, right: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(left.diag * right.diag, is_square=True, **_hints(left, right))


@rule("product", LinearOperatorScaledIdentity, LinearOperatorDiag)
def _(left: LinearOperatorScaledIdentity, right: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(right.diag * left._scale()[..., None], is_square=True, **_hints(left, right))


@rule("product", LinearOperatorDiag, LinearOperatorScaledIdentity)
def _(left: LinearOperatorDiag, right: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorDiag(left.diag * right._scale()[..., None], is_square=True, **_hints(left, right))


@rule("product", LinearOperatorScaledIdentity, LinearOperatorScaledIdentity)
def _(left: LinearOperatorScaledIdentity, right: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(left._num_rows, left.multiplier * right.multiplier, **_hints(left, right))
