"""Operators of blocks: block diagonal, block lower triangular, and Kronecker products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.operators.base import LinearOperator, same_batch
from gradtape._src.operators.composed import LinearOperatorComposition
from gradtape._src.operators.parts import broadcast_batches
from gradtape._src.operators.rules import rule
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import concat, split
from gradtape._src.ops.array.shape import broadcast_to, expand_dims, reshape, transpose, zeros
from gradtape._src.ops.linalg.diagonals import adjoint

dense_adjoint = adjoint
Hints = dict[str, Any]


def _same_dtype(operators: Sequence[LinearOperator]) -> Any:
    if not operators:
        raise ValueError("Expected a non-empty list of operators. Found: []")
    if len({operator.dtype for operator in operators}) > 1:
        named = ", ".join(f"{operator.name} is {operator.dtype.name}" for operator in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {named}")
    return operators[0].dtype


def _all(operators: Sequence[LinearOperator], hint: str, given: bool | None) -> bool | None:
    """Return a hint: the given one, or True if all blocks have it."""
    return True if given is None and all(getattr(operator, hint) for operator in operators) else given


def _whole(parts: Sequence[Any], axis: int, ranks: int) -> Any:
    """Concatenate parts along an axis after broadcasting their batches."""
    batch = broadcast_batches(*(TensorShape(extents_of(part)[: part.ndim - ranks]) for part in parts)).as_list()
    wanted = [[*batch, *extents_of(part)[part.ndim - ranks :]] for part in parts]
    return concat([broadcast_to(part, np.array(shape, np.int32)) for part, shape in zip(parts, wanted, strict=True)], axis)


class _Blocks(LinearOperator):
    """Base of operators whose arguments are split into one part for each block."""

    def _rows(self) -> list[int]:
        raise NotImplementedError

    def _columns(self) -> list[int]:
        raise NotImplementedError

    def _is_blocked(self, value: Any) -> bool:
        return isinstance(value, (list, tuple)) and all(
            hasattr(part, "shape") or isinstance(part, LinearOperator) for part in value
        )

    def _blockwise(self, parts: list[Any], adjoint: bool, solving: bool) -> list[Any]:
        raise NotImplementedError

    def _cut(self, x: Any, adjoint: bool, solving: bool) -> list[Any]:
        return split(x, self._rows() if adjoint != solving else self._columns(), axis=-2)

    def _apply(self, x: Any, adjoint: bool, adjoint_arg: bool, solving: bool) -> Any:
        x = dense_adjoint(x) if adjoint_arg else x
        return _whole(self._blockwise(self._cut(x, adjoint, solving), adjoint, solving), -2, 2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._apply(x, adjoint, adjoint_arg, False)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._apply(rhs, adjoint, adjoint_arg, True)

    @public
    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """Return A x. If `x` is a list with a part for each block, so is the result."""
        if self._is_blocked(x):
            parts = [dense_adjoint(convert_to_tensor(part)) if adjoint_arg else convert_to_tensor(part) for part in x]
            return self._blockwise(parts, adjoint, False)
        return super().matmul(x, adjoint, adjoint_arg, name)

    @public
    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """Return A x for vectors. If `x` is a list with a part for each block, so is the result."""
        if self._is_blocked(x):
            return [part[..., 0] for part in self._blockwise([expand_dims(part, -1) for part in x], adjoint, False)]
        return super().matvec(x, adjoint, name)

    @public
    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """Return X with A X = rhs. If `rhs` is a list with a part for each block, so is the result."""
        if self._is_blocked(rhs):
            self._must_be_invertible("Exact solve")
            parts = [dense_adjoint(convert_to_tensor(part)) if adjoint_arg else convert_to_tensor(part) for part in rhs]
            return self._blockwise(parts, adjoint, True)
        return super().solve(rhs, adjoint, adjoint_arg, name)

    @public
    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """Return x with A x = rhs for vectors. If `rhs` is a list with a part for each block, so is the result."""
        if self._is_blocked(rhs):
            return [part[..., 0] for part in self._blockwise([expand_dims(part, -1) for part in rhs], adjoint, True)]
        return super().solvevec(rhs, adjoint, name)


class LinearOperatorBlockDiag(_Blocks):
    """Operators along the diagonal, with zeros around them.

    >>> blocks = [tf.linalg.LinearOperatorDiag([2.0]), tf.linalg.LinearOperatorFullMatrix([[1.0, 1.0], [0.0, 1.0]])]
    >>> tf.linalg.LinearOperatorBlockDiag(blocks).matvec([1.0, 1.0, 1.0]).numpy()
    array([2., 2., 1.], dtype=float32)
    """

    @public
    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        self._operators = list(operators)
        dtype = _same_dtype(self._operators)
        if not all(operator.is_square is not False for operator in self._operators):
            is_square = None if is_square is True else is_square
        super().__init__(
            dtype,
            None,
            _all(self._operators, "is_non_singular", is_non_singular),
            _all(self._operators, "is_self_adjoint", is_self_adjoint),
            _all(self._operators, "is_positive_definite", is_positive_definite),
            is_square,
            name or "_ds_".join(operator.name for operator in self._operators),
            parameters,
        )

    @property
    def operators(self) -> Sequence[LinearOperator]:
        """The blocks."""
        return self._operators

    def _rows(self) -> list[int]:
        return [operator._range_size for operator in self._operators]

    def _columns(self) -> list[int]:
        return [operator._domain_size for operator in self._operators]

    def _shape(self) -> TensorShape:
        batch = broadcast_batches(*(operator.batch_shape for operator in self._operators))
        return batch.concatenate([_sum(self._rows()), _sum(self._columns())])

    def _blockwise(self, parts: list[Any], adjoint: bool, solving: bool) -> list[Any]:
        return [
            operator.solve(part, adjoint=adjoint) if solving else operator.matmul(part, adjoint=adjoint)
            for operator, part in zip(self._operators, parts, strict=True)
        ]

    def _to_dense(self) -> Any:
        batch = self.batch_shape.as_list()
        bands, before, total = [], 0, sum(self._columns())
        for operator in self._operators:
            rows, columns = operator._range_size, operator._domain_size
            block = broadcast_to(operator.to_dense(), np.array([*batch, rows, columns], np.int32))
            left, right = zeros([*batch, rows, before], self.dtype), zeros([*batch, rows, total - before - columns], self.dtype)
            bands.append(concat([left, block, right], -1))
            before += columns
        return concat(bands, -2)

    def _diag_part(self) -> Any:
        if not all(operator.is_square for operator in self._operators):
            return super()._diag_part()
        return _whole([operator.diag_part() for operator in self._operators], -1, 1)

    def _determinant(self) -> Any:
        result = self._operators[0].determinant()
        for operator in self._operators[1:]:
            result = result * operator.determinant()
        return result

    def _log_abs_determinant(self) -> Any:
        result = self._operators[0].log_abs_determinant()
        for operator in self._operators[1:]:
            result = result + operator.log_abs_determinant()
        return result

    def _trace(self) -> Any:
        if not all(operator.is_square for operator in self._operators):
            return super()._trace()
        result = self._operators[0].trace()
        for operator in self._operators[1:]:
            result = result + operator.trace()
        return result

    def _eigvals(self) -> Any:
        return _whole([operator.eigvals() for operator in self._operators], -1, 1)

    def _assert_non_singular(self) -> Any:
        return [operator.assert_non_singular() for operator in self._operators][-1]

    def _assert_self_adjoint(self) -> Any:
        return [operator.assert_self_adjoint() for operator in self._operators][-1]

    def _assert_positive_definite(self) -> Any:
        return [operator.assert_positive_definite() for operator in self._operators][-1]

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"operators": 0}


class LinearOperatorBlockLowerTriangular(_Blocks):
    """Operators on and below the diagonal: row i has i + 1 blocks.

    >>> one, two = tf.linalg.LinearOperatorDiag([2.0]), tf.linalg.LinearOperatorFullMatrix([[3.0]])
    >>> tf.linalg.LinearOperatorBlockLowerTriangular([[one], [two, one]]).solvevec([2.0, 5.0]).numpy()
    array([1., 1.], dtype=float32)
    """

    @public
    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        parameters = dict(locals())
        self._operators = [list(row) for row in operators]
        for place, row in enumerate(self._operators):
            if len(row) != place + 1:
                raise ValueError(f"Argument `operators[{place}]` must contain `{place + 1}` blocks. Received: {len(row)} blocks.")
        dtype = _same_dtype([operator for row in self._operators for operator in row])
        diagonal = [row[-1] for row in self._operators]
        if is_non_singular is None and all(operator.is_non_singular for operator in diagonal):
            is_non_singular = True
        if is_square is None and all(operator.is_square for operator in diagonal):
            is_square = True
        super().__init__(dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name, parameters)

    @property
    def operators(self) -> Sequence[Sequence[LinearOperator]]:
        """The rows of blocks."""
        return self._operators

    @property
    def _diagonal(self) -> list[LinearOperator]:
        return [row[-1] for row in self._operators]

    def _rows(self) -> list[int]:
        return [row[0]._range_size for row in self._operators]

    def _columns(self) -> list[int]:
        return [operator._domain_size for operator in self._operators[-1]]

    def _shape(self) -> TensorShape:
        batch = broadcast_batches(*(operator.batch_shape for row in self._operators for operator in row))
        return batch.concatenate([_sum(self._rows()), _sum(self._columns())])

    def _blockwise(self, parts: list[Any], adjoint: bool, solving: bool) -> list[Any]:
        count = len(self._operators)
        results: list[Any] = [None] * count
        for place in reversed(range(count)) if adjoint else range(count):
            others = range(place + 1, count) if adjoint else range(place)
            block = [self._operators[other][place] if adjoint else self._operators[place][other] for other in others]
            pairs = zip(block, others, strict=True)
            if solving:
                rest = parts[place]
                for operator, other in pairs:
                    rest = rest - operator.matmul(results[other], adjoint=adjoint)
                results[place] = self._diagonal[place].solve(rest, adjoint=adjoint)
            else:
                total = self._diagonal[place].matmul(parts[place], adjoint=adjoint)
                for operator, other in pairs:
                    total = total + operator.matmul(parts[other], adjoint=adjoint)
                results[place] = total
        return results

    def _to_dense(self) -> Any:
        batch, columns, bands = self.batch_shape.as_list(), self._columns(), []
        for row, rows in zip(self._operators, self._rows(), strict=True):
            parts = [
                broadcast_to(operator.to_dense(), np.array([*batch, rows, width], np.int32))
                for operator, width in zip(row, columns, strict=False)
            ]
            bands.append(concat([*parts, zeros([*batch, rows, sum(columns[len(row) :])], self.dtype)], -1))
        return concat(bands, -2)

    def _diag_part(self) -> Any:
        if not all(operator.is_square for operator in self._diagonal):
            return super()._diag_part()
        return _whole([operator.diag_part() for operator in self._diagonal], -1, 1)

    def _determinant(self) -> Any:
        if not all(operator.is_square for operator in self._diagonal):
            return super()._determinant()
        result = self._diagonal[0].determinant()
        for operator in self._diagonal[1:]:
            result = result * operator.determinant()
        return result

    def _log_abs_determinant(self) -> Any:
        if not all(operator.is_square for operator in self._diagonal):
            return super()._log_abs_determinant()
        result = self._diagonal[0].log_abs_determinant()
        for operator in self._diagonal[1:]:
            result = result + operator.log_abs_determinant()
        return result

    def _eigvals(self) -> Any:
        return _whole([operator.eigvals() for operator in self._diagonal], -1, 1)

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"operators": 0}


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators.

    >>> one, two = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0]]), tf.linalg.LinearOperatorFullMatrix([[3.0], [4.0]])
    >>> tf.linalg.LinearOperatorKronecker([one, two]).to_dense().numpy().tolist()
    [[3.0, 6.0], [4.0, 8.0]]
    """

    @public
    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        self._operators = list(operators)
        dtype = _same_dtype(self._operators)
        if all(operator.is_square for operator in self._operators):
            is_square = True if is_square is None else is_square
        super().__init__(
            dtype,
            None,
            _all(self._operators, "is_non_singular", is_non_singular),
            _all(self._operators, "is_self_adjoint", is_self_adjoint),
            _all(self._operators, "is_positive_definite", is_positive_definite),
            is_square,
            name or "_x_".join(operator.name for operator in self._operators),
            parameters,
        )

    @property
    def operators(self) -> Sequence[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self) -> TensorShape:
        batch = broadcast_batches(*(operator.batch_shape for operator in self._operators))
        rows = [operator._range_size for operator in self._operators]
        columns = [operator._domain_size for operator in self._operators]
        return batch.concatenate([_product(rows), _product(columns)])

    def _each_axis(self, x: Any, adjoint: bool, solving: bool) -> Any:
        """Apply each factor along its own axis."""
        turned = adjoint != solving
        sizes = [operator._range_size if turned else operator._domain_size for operator in self._operators]
        batch = broadcast_batches(TensorShape(extents_of(x)[:-2]), self.batch_shape).as_list()
        columns = extents_of(x)[-1]
        x = broadcast_to(x, np.array([*batch, *extents_of(x)[-2:]], np.int32))
        # [batch, rest, n, columns], with the axis n of one factor second to last, from the last factor to the first
        done = 1
        total = int(np.prod(sizes, dtype=np.int64))
        for operator, size in zip(self._operators[::-1], sizes[::-1], strict=True):
            before = total // size
            total = before
            flat = reshape(x, [*batch, before, size, done * columns])
            moved = _swap(flat, len(batch))  # [batch, size, before, done * columns]
            moved = reshape(moved, [*batch, size, before * done * columns])
            moved = operator.solve(moved, adjoint=adjoint) if solving else operator.matmul(moved, adjoint=adjoint)
            new = extents_of(moved)[-2]
            x = _swap(reshape(moved, [*batch, new, before, done * columns]), len(batch))
            done *= new
        return reshape(x, [*batch, done, columns])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._each_axis(dense_adjoint(x) if adjoint_arg else x, adjoint, False)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._each_axis(dense_adjoint(rhs) if adjoint_arg else rhs, adjoint, True)

    def _to_dense(self) -> Any:
        result = self._operators[0].to_dense()
        for operator in self._operators[1:]:
            left, right = same_batch(result, operator.to_dense())
            product = left[..., :, None, :, None] * right[..., None, :, None, :]
            (*batch, m, n), (*_, rows, columns) = extents_of(left), extents_of(right)
            result = reshape(product, [*batch, m * rows, n * columns])
        return result

    def _outer(self, values: list[Any]) -> Any:
        result = values[0]
        for value in values[1:]:
            product = result[..., :, None] * value[..., None, :]
            *batch, m, n = extents_of(product)
            result = reshape(product, [*batch, m * n])
        return result

    def _diag_part(self) -> Any:
        if not all(operator.is_square for operator in self._operators):
            return super()._diag_part()
        return self._outer([operator.diag_part() for operator in self._operators])

    def _eigvals(self) -> Any:
        return self._outer([operator.eigvals() for operator in self._operators])

    def _trace(self) -> Any:
        if not all(operator.is_square for operator in self._operators):
            return super()._trace()
        result = self._operators[0].trace()
        for operator in self._operators[1:]:
            result = result * operator.trace()
        return result

    def _determinant(self) -> Any:
        if not all(operator.is_square for operator in self._operators):
            return super()._determinant()
        total = int(self._domain_size or 0)
        result = convert_to_tensor(1, self.dtype)
        for operator in self._operators:
            result = result * operator.determinant() ** cast(float(total / operator._domain_size), self.dtype)
        return result

    def _log_abs_determinant(self) -> Any:
        if not all(operator.is_square for operator in self._operators):
            return super()._log_abs_determinant()
        total = int(self._domain_size or 0)
        result = convert_to_tensor(0, self.dtype)
        for operator in self._operators:
            result = result + operator.log_abs_determinant() * cast(float(total / operator._domain_size), self.dtype)
        return result

    def _assert_non_singular(self) -> Any:
        return [operator.assert_non_singular() for operator in self._operators][-1]

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return ("operators",)

    @property
    def _experimental_parameter_ndims_to_matrix_ndims(self) -> dict[str, Any]:
        return {"operators": 0}


def _swap(x: Any, rank: int) -> Any:
    return transpose(x, [*range(rank), rank + 1, rank, rank + 2])


def _sum(extents: Sequence[int | None]) -> int | None:
    return None if None in extents else sum(extents)  # type: ignore[arg-type]


def _product(extents: Sequence[int | None]) -> int | None:
    return None if None in extents else int(np.prod(extents))  # type: ignore[arg-type]


def _kind_hints(operator: LinearOperator) -> Hints:
    return {hint: getattr(operator, hint) for hint in ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")}


@rule("adjoint", LinearOperatorBlockDiag)
@rule("adjoint", LinearOperatorKronecker)
def _(operator: Any) -> LinearOperator:
    return type(operator)([each.adjoint() for each in operator.operators], **_kind_hints(operator))


@rule("inverse", LinearOperatorBlockDiag)
@rule("inverse", LinearOperatorKronecker)
def _(operator: Any) -> LinearOperator:
    return type(operator)([each.inverse() for each in operator.operators], **_kind_hints(operator))


@rule("cholesky", LinearOperatorBlockDiag)
@rule("cholesky", LinearOperatorKronecker)
def _(operator: Any) -> LinearOperator:
    return type(operator)(
        [each.cholesky() for each in operator.operators], is_non_singular=True, is_self_adjoint=None, is_square=True
    )


@rule("product", LinearOperatorBlockDiag, LinearOperatorBlockDiag)
def _(left: LinearOperatorBlockDiag, right: LinearOperatorBlockDiag) -> LinearOperator:
    if left._columns() != right._rows():
        return LinearOperatorComposition([left, right])
    return LinearOperatorBlockDiag([a.matmul(b) for a, b in zip(left.operators, right.operators, strict=True)], is_square=None)
