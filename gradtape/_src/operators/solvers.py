"""Iterative solvers, and sums of operators."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gradtape._src.control.loop import while_loop
from gradtape._src.core.base.public import public
from gradtape._src.core.tensors.convert import convert_to_tensor
from gradtape._src.operators.base import LinearOperator
from gradtape._src.operators.dense import LinearOperatorFullMatrix, LinearOperatorLowerTriangular
from gradtape._src.operators.diagonal import LinearOperatorDiag, LinearOperatorIdentity, LinearOperatorScaledIdentity
from gradtape._src.ops.array.creation import zeros_like
from gradtape._src.ops.linalg.norms import norm
from gradtape._src.ops.math.compare import logical_and
from gradtape._src.ops.math.complex import conj
from gradtape._src.ops.math.reduction import reduce_any, reduce_sum

CGState = namedtuple("CGState", ["i", "x", "r", "p", "gamma"])


@public
def conjugate_gradient(
    operator: Any,
    rhs: Any,
    preconditioner: Any = None,
    x: Any = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> Any:
    """Solve A x = rhs by conjugate gradients, for a self-adjoint, positive definite operator.

    The result is a namedtuple: the number of steps `i`, the solution `x`, its residual `r`, the direction `p` and `gamma`.

    Example:
      >>> operator = tf.linalg.LinearOperatorDiag([2.0, 4.0], is_self_adjoint=True, is_positive_definite=True)
      >>> tf.linalg.experimental.conjugate_gradient(operator, tf.constant([2.0, 8.0])).x.numpy()
      array([1., 2.], dtype=float32)
    """
    if not (operator.is_self_adjoint and operator.is_positive_definite):
        raise ValueError("Expected a self-adjoint, positive definite operator.")
    rhs = convert_to_tensor(rhs)

    def dot(a: Any, b: Any) -> Any:
        return reduce_sum((conj(a) if a.dtype.is_complex else a) * b, axis=-1)

    def preconditioned(residual: Any) -> Any:
        return residual if preconditioner is None else preconditioner.matvec(residual)

    def goes_on(i: Any, state: Any) -> Any:
        return logical_and(i < max_iter, reduce_any(norm(state.r, axis=-1) > bound))

    def step(i: Any, state: Any) -> Any:
        z = operator.matvec(state.p)
        alpha = state.gamma / dot(state.p, z)
        x = state.x + alpha[..., None] * state.p
        r = state.r - alpha[..., None] * z
        q = preconditioned(r)
        gamma = dot(r, q)
        p = q + (gamma / state.gamma)[..., None] * state.p
        return i + 1, CGState(i + 1, x, r, p, gamma)

    n = convert_to_tensor(0)
    start = zeros_like(rhs) if x is None else convert_to_tensor(x)
    residual = rhs if x is None else rhs - operator.matvec(start)
    direction = preconditioned(residual)
    bound = tol * norm(rhs, axis=-1)
    first = CGState(n, start, residual, direction, dot(residual, direction))
    _, found = while_loop(goes_on, step, [n, first])
    return CGState(found.i, found.x, found.r, found.p, found.gamma)


@public
def add_operators(
    operators: Any, operator_name: str | None = None, addition_tiers: Any = None, name: str | None = None
) -> list[Any]:
    """Return the sum of operators, as a list of one operator: diagonal if all are, lower triangular if all are, else dense."""
    operators = list(operators)
    if not operators:
        raise ValueError("Argument `operators` should be a non-empty list or tuple.")
    if not all(isinstance(operator, LinearOperator) for operator in operators):
        raise TypeError(f"Argument `operators` should contain only LinearOperators. Found: {operators}.")
    if len(operators) == 1:
        return operators
    hints: dict[str, Any] = {
        "is_self_adjoint": True if all(operator.is_self_adjoint for operator in operators) else None,
        "is_positive_definite": True if all(operator.is_positive_definite for operator in operators) else None,
    }
    scaled = (LinearOperatorIdentity, LinearOperatorScaledIdentity)
    if all(isinstance(operator, scaled) for operator in operators):
        total = sum(operator._scale() for operator in operators)
        return [LinearOperatorScaledIdentity(operators[0]._num_rows, total, name=operator_name or "Sum", **hints)]
    if all(isinstance(operator, (*scaled, LinearOperatorDiag)) for operator in operators):
        entries = sum(operator.diag_part() for operator in operators)
        return [LinearOperatorDiag(entries, name=operator_name or "Sum", **hints)]
    triangular = all(isinstance(operator, (*scaled, LinearOperatorDiag, LinearOperatorLowerTriangular)) for operator in operators)
    total = operators[0].to_dense()
    for operator in operators[1:]:
        total = operator.add_to_tensor(total)
    kind = LinearOperatorLowerTriangular if triangular else LinearOperatorFullMatrix
    return [kind(total, name=operator_name or "Sum", **{} if triangular else hints)]
