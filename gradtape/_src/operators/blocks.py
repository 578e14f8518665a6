"""Operators of blocks: block diagonal, block lower triangular, and Kronecker products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from operator import add, mul
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.core.tensors.tensor import extents_of
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.operators import rules
from gradtape._src.operators.base import LinearOperator
from gradtape._src.operators.composed import LinearOperatorComposition, OfSeveral
from gradtape._src.operators.parts import in_batch, same_batch
from gradtape._src.operators.rules import rule
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.joining import concat, split
from gradtape._src.ops.array.shape import expand_dims, reshape, transpose, zeros
from gradtape._src.ops.linalg.diagonals import adjoint as dense_adjoint


def _whole(parts: Sequence[Any], axis: int, rank: int) -> Any:
    """Concatenate parts along an axis after broadcasting their batches."""
    return concat(same_batch(*parts, rank=rank), axis)


class _Blocks(OfSeveral):
    """Base of operators whose arguments are split into one part for each block."""

    def _rows(self) -> list[int]:
        raise NotImplementedError

    def _columns(self) -> list[int]:
        raise NotImplementedError

    def _shape(self) -> TensorShape:
        return self._batch().concatenate([_total(sum, self._rows()), _total(sum, self._columns())])

    def _is_blocked(self, value: Any) -> bool:
        return isinstance(value, (list, tuple)) and all(
            hasattr(part, "shape") or isinstance(part, LinearOperator) for part in value
        )

    def _blockwise(self, parts: list[Any], adjoint: bool, solving: bool) -> list[Any]:
        raise NotImplementedError

    def _apply(self, x: Any, adjoint: bool, solving: bool) -> Any:
        parts = split(x, self._rows() if adjoint != solving else self._columns(), axis=-2)
        return _whole(self._blockwise(parts, adjoint, solving), -2, 2)

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        return self._apply(x, adjoint, False)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._apply(rhs, adjoint, True)

    def _diag_part(self) -> Any:
        if not self._all("is_square"):
            return super()._diag_part()
        return _whole([operator.diag_part() for operator in self._factors()], -1, 1)

    def _eigvals(self) -> Any:
        return _whole([operator.eigvals() for operator in self._factors()], -1, 1)

    @public
    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """Return A x. If `x` is a list with a part for each block, so is the result."""
        if self._is_blocked(x):
            return self._blockwise(_converted(x, adjoint_arg), adjoint, False)
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
            return self._blockwise(_converted(rhs, adjoint_arg), adjoint, True)
        return super().solve(rhs, adjoint, adjoint_arg, name)

    @public
    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """Return x with A x = rhs for vectors. If `rhs` is a list with a part for each block, so is the result."""
        if self._is_blocked(rhs):
            self._must_be_invertible("Exact solve")
            return [part[..., 0] for part in self._blockwise([expand_dims(part, -1) for part in rhs], adjoint, True)]
        return super().solvevec(rhs, adjoint, name)


def _converted(parts: Any, turned: bool) -> list[Any]:
    """Convert the parts of an argument to tensors, to their adjoints if `turned`."""
    return [dense_adjoint(part) if turned else convert_to_tensor(part) for part in parts]


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
        dtype = self._common_dtype()
        if is_square and any(operator.is_square is False for operator in self._operators):
            is_square = None
        name = name or "_ds_".join(operator.name for operator in self._operators)
        self._begin(dtype, parameters, **self._shared(parameters), is_square=is_square, name=name)

    def _rows(self) -> list[int]:
        return [operator._range_size for operator in self._operators]

    def _columns(self) -> list[int]:
        return [operator._domain_size for operator in self._operators]

    def _blockwise(self, parts: list[Any], adjoint: bool, solving: bool) -> list[Any]:
        return [
            operator.solve(part, adjoint=adjoint) if solving else operator.matmul(part, adjoint=adjoint)
            for operator, part in zip(self._operators, parts, strict=True)
        ]

    def _to_dense(self) -> Any:
        blocks, bands = [in_batch(operator.to_dense(), self._batch_extents) for operator in self._operators], []
        before, after = 0, sum(self._columns())
        for block in blocks:
            *rows, columns = extents_of(block)
            after -= columns
            bands.append(concat([zeros([*rows, before], self.dtype), block, zeros([*rows, after], self.dtype)], -1))
            before += columns
        return concat(bands, -2)

    def _trace(self) -> Any:
        if not self._all("is_square"):
            return super()._trace()
        return reduce(add, [operator.trace() for operator in self._operators])

    def _assert_self_adjoint(self) -> Any:
        return [operator.assert_self_adjoint() for operator in self._operators][-1]

    def _assert_positive_definite(self) -> Any:
        return [operator.assert_positive_definite() for operator in self._operators][-1]


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
        dtype, shared = self._common_dtype(), self._shared(parameters, "is_non_singular")
        if is_square is False or any(operator.is_square is False for operator in self._factors()):
            raise ValueError("LinearOperatorBlockLowerTriangular must be square, and so must its blocks on the diagonal.")
        sizes = [row[-1].shape[-1:] for row in self._operators]
        for i, row in enumerate(self._operators):
            for j, operator in enumerate(row):
                if not operator.shape[-2:].is_compatible_with(sizes[i].concatenate(sizes[j])):
                    raise ValueError(
                        f"Argument `operators[{i}][{j}]` must have shape {sizes[i].concatenate(sizes[j])}, as the blocks on the "
                        f"diagonal of its row and column. Received: {operator.shape[-2:]}."
                    )
        self._begin(dtype, parameters, **shared, is_square=True)

    def _members(self) -> list[LinearOperator]:
        return [operator for row in self._operators for operator in row]

    def _factors(self) -> list[LinearOperator]:
        return [row[-1] for row in self._operators]

    _assert_non_singular = LinearOperator._assert_non_singular

    def _rows(self) -> list[int]:
        return [row[0]._range_size for row in self._operators]

    def _columns(self) -> list[int]:
        return [operator._domain_size for operator in self._operators[-1]]

    def _blockwise(self, parts: list[Any], adjoint: bool, solving: bool) -> list[Any]:
        count, diagonal = len(self._operators), self._factors()
        results: list[Any] = [None] * count
        for place in reversed(range(count)) if adjoint else range(count):
            others = range(place + 1, count) if adjoint else range(place)
            block = [self._operators[other][place] if adjoint else self._operators[place][other] for other in others]
            pairs = zip(block, others, strict=True)
            if solving:
                rest = parts[place]
                for operator, other in pairs:
                    rest = rest - operator.matmul(results[other], adjoint=adjoint)
                results[place] = diagonal[place].solve(rest, adjoint=adjoint)
            else:
                total = diagonal[place].matmul(parts[place], adjoint=adjoint)
                for operator, other in pairs:
                    total = total + operator.matmul(parts[other], adjoint=adjoint)
                results[place] = total
        return results

    def _to_dense(self) -> Any:
        columns, bands = self._columns(), []
        for row in self._operators:
            blocks = [in_batch(operator.to_dense(), self._batch_extents) for operator in row]
            bands.append(concat([*blocks, zeros([*extents_of(blocks[0])[:-1], sum(columns[len(row) :])], self.dtype)], -1))
        return concat(bands, -2)


class LinearOperatorKronecker(OfSeveral):
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
        dtype, shared = self._common_dtype(), self._shared(parameters)
        if self._all("is_square"):
            shared["is_square"] = True if is_square is None else is_square
        self._begin(dtype, parameters, **shared, name=name or "_x_".join(operator.name for operator in self._operators))

    def _shape(self) -> TensorShape:
        rows = [operator._range_size for operator in self._operators]
        columns = [operator._domain_size for operator in self._operators]
        return self._batch().concatenate([_total(prod, rows), _total(prod, columns)])

    def _each_axis(self, x: Any, adjoint: bool, solving: bool) -> Any:
        """Apply each factor along its own axis."""
        turned = adjoint != solving
        sizes = [operator._range_size if turned else operator._domain_size for operator in self._operators]
        x = in_batch(x, self._batch_extents)
        *batch, total, columns = extents_of(x)
        # [batch, rest, n, columns], with the axis n of one factor second to last, from the last factor to the first
        done, before = 1, total
        for operator, size in zip(self._operators[::-1], sizes[::-1], strict=True):
            before //= size
            flat = reshape(x, [*batch, before, size, done * columns])
            moved = _swap(flat, len(batch))  # [batch, size, before, done * columns]
            moved = reshape(moved, [*batch, size, before * done * columns])
            moved = operator.solve(moved, adjoint=adjoint) if solving else operator.matmul(moved, adjoint=adjoint)
            new = extents_of(moved)[-2]
            x = _swap(reshape(moved, [*batch, new, before, done * columns]), len(batch))
            done *= new
        return reshape(x, [*batch, done, columns])

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        return self._each_axis(x, adjoint, False)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._each_axis(rhs, adjoint, True)

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
        if not self._all("is_square"):
            return super()._diag_part()
        return self._outer([operator.diag_part() for operator in self._operators])

    def _eigvals(self) -> Any:
        return self._outer([operator.eigvals() for operator in self._operators])

    def _trace(self) -> Any:
        if not self._all("is_square"):
            return super()._trace()
        return reduce(mul, [operator.trace() for operator in self._operators])

    def _determinant(self) -> Any:
        if not self._all("is_square"):
            return super()._determinant()
        total = int(self._domain_size or 0)
        result = convert_to_tensor(1, self.dtype)
        for operator in self._operators:
            result = result * operator.determinant() ** cast(float(total / operator._domain_size), self.dtype)
        return result

    def _log_abs_determinant(self) -> Any:
        if not self._all("is_square"):
            return super()._log_abs_determinant()
        total = int(self._domain_size or 0)
        result = convert_to_tensor(0, self.dtype)
        for operator in self._operators:
            result = result + operator.log_abs_determinant() * cast(float(total / operator._domain_size), self.dtype)
        return result


def _swap(x: Any, rank: int) -> Any:
    return transpose(x, [*range(rank), rank + 1, rank, rank + 2])


def _total(function: Any, extents: Sequence[int | None]) -> int | None:
    return None if None in extents else function(extents)


@rule("adjoint", LinearOperatorBlockDiag)
@rule("adjoint", LinearOperatorKronecker)
def _(operator: Any) -> LinearOperator:
    return type(operator)([each.adjoint() for each in operator.operators], **rules.hints_of(operator))


@rule("inverse", LinearOperatorBlockDiag)
@rule("inverse", LinearOperatorKronecker)
def _(operator: Any) -> LinearOperator:
    return type(operator)([each.inverse() for each in operator.operators], **rules.hints_of(operator))


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
