"""Operators derived from operators: adjoints, inverses and products."""

from __future__ import annotations

from functools import reduce
from operator import add, mul
from typing import Any

from gradtape._src.core.base.public import public
from gradtape._src.core.values.shape import TensorShape
from gradtape._src.operators import rules
from gradtape._src.operators.base import LinearOperator
from gradtape._src.operators.parts import broadcast_batches, parameter
from gradtape._src.operators.rules import rule
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.shape import broadcast_dynamic_shape
from gradtape._src.ops.linalg.diagonals import adjoint
from gradtape._src.ops.math.complex import conj


class _OfOne(LinearOperator):
    """Base of the adjoint and the inverse of an operator."""

    _composite_tensor_fields = ("operator",)
    _experimental_parameter_ndims_to_matrix_ndims = {"operator": 0}
    operator = parameter("operator", "The original operator.")

    def _derive(self, parameters: dict[str, Any], suffix: str) -> None:
        """Call the constructor of LinearOperator with the hints in `parameters`, or the operator's in place of None."""
        operator: LinearOperator = parameters["operator"]
        self._operator = operator
        hints = rules.hints_of(operator)
        for hint, known in hints.items():
            value = parameters[hint]
            if None not in (value, known) and value != known:
                raise ValueError(f"The hint {hint}={value} contradicts that of the operator, {known}.")
            hints[hint] = known if value is None else value
        self._begin(operator.dtype, parameters, **hints, name=parameters["name"] or f"{operator.name}{suffix}")

    def _cond(self) -> Any:
        return self._operator.cond()

    def _assert_non_singular(self) -> Any:
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        return self._operator.assert_self_adjoint()


class LinearOperatorAdjoint(_OfOne):
    """The adjoint of an operator, A*.

    >>> operator = tf.linalg.LinearOperatorFullMatrix([[1.0, 2.0], [3.0, 4.0]])
    >>> tf.linalg.LinearOperatorAdjoint(operator).to_dense().numpy().tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """

    @public
    def __init__(
        self,
        operator: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._derive(dict(locals()), "_adjoint")

    def _shape(self) -> TensorShape:
        shape = self._operator._shape()
        return shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self) -> Any:
        extents = self._operator.shape_tensor()
        return concat([extents[:-2], extents[-1:], extents[-2:-1]], 0)

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.matmul(x, adjoint=not adjoint)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.solve(rhs, adjoint=not adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _to_dense(self) -> Any:
        return adjoint(self._operator.to_dense())

    def _diag_part(self) -> Any:
        return conj(self._operator.diag_part())

    def _trace(self) -> Any:
        return conj(self._operator.trace())

    def _determinant(self) -> Any:
        return conj(self._operator.determinant())

    def _log_abs_determinant(self) -> Any:
        return self._operator.log_abs_determinant()

    def _eigvals(self) -> Any:
        return conj(self._operator.eigvals())

    def _linop_adjoint(self) -> LinearOperator:
        return self._operator


class LinearOperatorInversion(_OfOne):
    """The inverse of an operator.

    >>> operator = tf.linalg.LinearOperatorFullMatrix([[2.0, 0.0], [0.0, 4.0]])
    >>> tf.linalg.LinearOperatorInversion(operator).matvec([2.0, 4.0]).numpy()
    array([1., 1.], dtype=float32)
    """

    @public
    def __init__(
        self,
        operator: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if operator.is_square is False or is_square is False:
            raise ValueError(f"operator must represent a square matrix: {operator.name}.")
        if operator.is_non_singular is False:
            raise ValueError(f"operator and all created LinearOperatorInversion must be non-singular: {operator.name}.")
        if is_non_singular is False:
            raise ValueError("is_non_singular must be True or None: an inverse has an inverse.")
        self._derive(dict(locals()), "_inv")

    def _shape(self) -> TensorShape:
        return self._operator._shape()

    def _shape_tensor(self) -> Any:
        return self._operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.solve(x, adjoint=adjoint)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.solvevec(x, adjoint=adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.matmul(rhs, adjoint=adjoint)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.matvec(rhs, adjoint=adjoint)

    def _determinant(self) -> Any:
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -1.0 * self._operator.log_abs_determinant()

    def _eigvals(self) -> Any:
        return 1.0 / self._operator.eigvals()

    def _linop_inverse(self) -> LinearOperator:
        return self._operator


class OfSeveral(LinearOperator):
    """Base of operators made of a list of operators."""

    _composite_tensor_fields = ("operators",)
    _experimental_parameter_ndims_to_matrix_ndims = {"operators": 0}
    operators = parameter("operators", "The operators that it is made of, as they were given.")
    _operators: Any

    def _members(self) -> list[LinearOperator]:
        """Return all operators."""
        return self._operators

    def _factors(self) -> list[LinearOperator]:
        """Return the operators whose determinants are multiplied, if they are square."""
        return self._operators

    def _common_dtype(self) -> Any:
        """Return the dtype of all operators; ValueError if there are none, TypeError for several dtypes."""
        if not self._members():
            raise ValueError("Expected a non-empty list of operators. Found: []")
        if len({operator.dtype for operator in self._members()}) > 1:
            named = ", ".join(f"{operator.name} is {operator.dtype.name}" for operator in self._members())
            raise TypeError(f"Expected all operators to have the same dtype.  Found {named}")
        return self._members()[0].dtype

    def _all(self, hint: str) -> bool:
        return all(getattr(operator, hint) for operator in self._factors())

    def _shared(self, parameters: dict[str, Any], *hints: str) -> dict[str, Any]:
        """Return hints: the given ones, or True where all factors have them."""
        wanted = hints or ("is_non_singular", "is_self_adjoint", "is_positive_definite")
        return {hint: True if parameters[hint] is None and self._all(hint) else parameters[hint] for hint in wanted}

    def _batch(self) -> TensorShape:
        return broadcast_batches(*(operator._batch_extents for operator in self._members()))

    def _determinant(self) -> Any:
        if not self._all("is_square"):
            return super()._determinant()
        return reduce(mul, [operator.determinant() for operator in self._factors()])

    def _log_abs_determinant(self) -> Any:
        if not self._all("is_square"):
            return super()._log_abs_determinant()
        return reduce(add, [operator.log_abs_determinant() for operator in self._factors()])

    def _assert_non_singular(self) -> Any:
        if not self._all("is_square"):
            return super()._assert_non_singular()
        return [operator.assert_non_singular() for operator in self._factors()][-1]


class LinearOperatorComposition(OfSeveral):
    """The product of operators, the last of which is applied first.

    >>> first, second = tf.linalg.LinearOperatorDiag([1.0, 2.0]), tf.linalg.LinearOperatorFullMatrix([[1.0, 1.0], [0.0, 1.0]])
    >>> tf.linalg.LinearOperatorComposition([first, second]).to_dense().numpy().tolist()
    [[1.0, 1.0], [0.0, 2.0]]
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
        dtype = self._common_dtype()
        hints = {hint: parameters[hint] for hint in rules.HINTS}
        for hint, said in self._found().items():
            if hints[hint] is False:
                raise ValueError(f"The hint {hint}=False contradicts the operators: the composition of {said}.")
            hints[hint] = True
        for left, right in zip(self._operators, self._operators[1:], strict=False):
            if None not in (left._domain_size, right._range_size) and left._domain_size != right._range_size:
                raise ValueError(
                    f"Operators are incompatible: {left.name} has {left._domain_size} columns, {right.name} has "
                    f"{right._range_size} rows."
                )
        name = name or "_o_".join(operator.name for operator in self._operators)
        self._begin(dtype, parameters, **hints, name=name)

    def _found(self) -> dict[str, str]:
        """Return the hints that follow from the operators, each with the reason: mirrored operators make a product A A*."""
        found, mirrored = {}, len(self._operators) % 2 == 0 and all(map(_are_adjoint, self._operators, self._operators[::-1]))
        if self._all("is_non_singular"):
            found["is_non_singular"] = "non-singular operators is always non-singular"
        if mirrored or (len(self._operators) == 1 and self._all("is_self_adjoint")):
            found["is_self_adjoint"] = "an operator with its adjoint is always self-adjoint"
        if mirrored:
            found["is_square"] = "an operator with its adjoint is always square"
            if "is_non_singular" in found:
                found["is_positive_definite"] = "a non-singular operator with its adjoint is always positive definite"
        return found

    def _shape(self) -> TensorShape:
        return self._batch().concatenate([self._operators[0]._range_size, self._operators[-1]._domain_size])

    def _shape_tensor(self) -> Any:
        batch = self._operators[0].batch_shape_tensor()
        for operator in self._operators[1:]:
            batch = broadcast_dynamic_shape(batch, operator.batch_shape_tensor())
        first, last = self._operators[0].shape_tensor(), self._operators[-1].shape_tensor()
        return concat([batch, first[-2:-1], last[-1:]], 0)

    def _matmul(self, x: Any, adjoint: bool = False) -> Any:
        for operator in self._operators if adjoint else self._operators[::-1]:
            x = operator.matmul(x, adjoint=adjoint)
        return x

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        for operator in self._operators if adjoint else self._operators[::-1]:
            x = operator.matvec(x, adjoint=adjoint)
        return x

    def _solve(self, rhs: Any, adjoint: bool = False) -> Any:
        for operator in self._operators[::-1] if adjoint else self._operators:
            rhs = operator.solve(rhs, adjoint=adjoint)
        return rhs

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        for operator in self._operators[::-1] if adjoint else self._operators:
            rhs = operator.solvevec(rhs, adjoint=adjoint)
        return rhs

    def _to_dense(self) -> Any:
        *others, last = self._operators
        result = last.to_dense()
        for operator in others[::-1]:
            result = operator.matmul(result)
        return result


def _are_adjoint(x: LinearOperator, y: LinearOperator) -> bool:
    """Return whether one of two operators is known to be the adjoint of the other: by identity, not by elements."""
    if x is y:
        return bool(x.is_self_adjoint)
    return any(isinstance(one, LinearOperatorAdjoint) and one.operator is other for one, other in ((x, y), (y, x)))


@rule("adjoint", LinearOperator)
def _(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorAdjoint(operator)


@rule("inverse", LinearOperator)
def _(operator: LinearOperator) -> LinearOperator:
    return LinearOperatorInversion(operator, **rules.hints_of(operator))


@rule("product", LinearOperator, LinearOperator)
def _(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    rows, columns = left.range_dimension.value, right.domain_dimension.value
    square = rules.both("is_square", left, right) if None in (rows, columns) else rows == columns
    hints = {"is_non_singular": rules.invertible(left, right)} if square is not False else dict.fromkeys(rules.HINTS, False)
    return LinearOperatorComposition([left, right], **hints | {"is_square": square})
