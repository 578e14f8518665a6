"""Dense linear systems: Cholesky factors, triangular and square solves, inverses, determinants, least squares.

Matrices are the last two axes, batches the axes in front. Dtypes are floating (not bfloat16) or complex. Gradients follow
TensorFlow's convention: dL = Re⟨dA, δA⟩.
"""

import itertools
import string
from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.errors import InvalidArgumentError, invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.platform.lowerings import HOST, lowered, lowering
from gradtape._src.core.tensors.convert import is_tensor, tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.shape import _reshape, plain
from gradtape._src.ops.floats import wide
from gradtape._src.ops.linalg.diagonals import adjoint, band_part, diag_part, set_diag
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.math.complex import complex, conj, imag, real
from gradtape._src.ops.math.elementary import log
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.shapes import COMPLEX, broadcast_shapes, require

INEXACT = ("float64", "float32", "float16", *COMPLEX)


# ---------------------------------------------------------------------------------------------------------------------
# Shape rules, and the test for singular matrices


def check_matrix(x, index=0):
    """Raise InvalidArgumentError unless the Aval `x` holds matrices of a dtype that linear algebra accepts."""
    require(x, INEXACT)
    if x.ndim < 2:
        raise invalid(f"Input tensor {index} must have rank >= 2, got {x.ndim}: matrices stand in the last two axes.")


def square(input, **attributes):
    """Infer the aval of a function from square matrices to matrices of the same shape."""
    check_matrix(input)
    if input.shape[-1] != input.shape[-2]:
        raise invalid(f"Input matrix must be square.\nReceived shape {plain(input.shape)}.")
    return input


def is_singular(matrix):
    """Return which of the matrices have a zero or NaN pivot, which LAPACK cannot invert."""
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or not matrix.size:
        return np.zeros((), bool)
    return _has_no_pivot(wide(matrix))


@lowered("whether a matrix has a zero pivot")
def _has_no_pivot(matrix):
    pivots = jnp.diagonal(lax.linalg.lu(matrix)[0], axis1=-2, axis2=-1)
    return ~(abs(pivots) > 0)


def _has_no_determinant(matrix):
    with np.errstate(all="ignore"):
        sign, log = np.linalg.slogdet(matrix)  # for a NaN pivot the sign may be 1, but the logarithm is NaN
    return ~((abs(sign) > 0) & (log == log))


lowering(_has_no_pivot, platform=HOST, rule=_has_no_determinant, because="NumPy has no LU decomposition")


def _singular(input):
    said = "Input is not invertible.\nIts rows are linearly dependent; for what is nearest to an inverse see linalg.pinv."
    yield is_singular(input), said


def _singular_system(matrix):
    said = "Input matrix is not invertible.\nIts rows are linearly dependent; linalg.lstsq(fast=False) solves such systems."
    yield is_singular(matrix), said


def hermitian(x):
    """Return `(x + xᴴ) / 2`, with the lower triangle of `x` halved on the diagonal: the cotangent of a triangle's matrix."""
    lower = set_diag(band_part(x, -1, 0), diag_part(x) / 2.0)
    return lower + adjoint(lower)


def _turned(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


# ---------------------------------------------------------------------------------------------------------------------
# Triangular matrices and Cholesky factors


def _triangular_rule(matrix, rhs, lower, adjoint):
    check_matrix(matrix)
    check_matrix(rhs, 1)
    m, n = matrix.shape[-2:]
    if m != n:
        raise invalid(f"In[0] matrices in the last dimensions must be square ({n} =/= {m})")
    if rhs.shape[-2] != n:
        raise invalid(
            f"In[0] mismatch In[1] shape: {n} vs. {rhs.shape[-2]}: {plain(matrix.shape)} {plain(rhs.shape)}: rhs must have as "
            "many rows as the matrix."
        )
    try:
        batch = broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    except InvalidArgumentError:
        raise invalid(
            f"In[0] and In[1] must have compatible batch dimensions: {plain(matrix.shape)} vs. {plain(rhs.shape)}"
        ) from None
    return aval((*batch, *rhs.shape[-2:]), rhs.dtype)


@op(
    "MatrixTriangularSolve", infer=_triangular_rule, broadcasting=True, saves="matrix y",
    flops=lambda attrs, inputs, result: result.size * inputs[0].shape[-1], traits="blockwise",
)  # fmt: skip
def _triangular_solve(matrix, rhs, *, lower=True, adjoint=False):
    batch = jnp.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    a, b = [jnp.broadcast_to(wide(x), (*batch, *x.shape[-2:])) for x in (matrix, rhs)]
    if 0 in b.shape:
        return b.astype(rhs.dtype)
    x = lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint)
    return x.astype(rhs.dtype)


@gradient(_triangular_solve)
def _(dy, matrix, y, needs_matrix, *, lower, adjoint):  # B: A⁻ᴴ dy; A: −dB Xᴴ in its triangle
    db = _triangular_solve(matrix, dy, lower, not adjoint)
    if not needs_matrix:
        return None, db
    return band_part(to_matrix(db, y, adjoint), *((-1, 0) if lower else (0, -1))), db


def to_matrix(db, y, adjoint):
    """Return the cotangent of the matrix A of a system `A X = B`, from that of B and the solution X."""
    return -matmul(y, db, adjoint_b=True) if adjoint else -matmul(db, y, adjoint_b=True)


@public
def triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None) -> Tensor:
    """Return X of `A X = rhs` for triangular matrices A, [..., m, m], and right-hand sides [..., m, k]; batches broadcast.

    Only the lower triangle of `matrix` is read (the upper one unless `lower`). `adjoint` solves with Aᴴ. A zero on the
    diagonal gives inf or NaN.

    >>> tf.linalg.triangular_solve([[2.0, 0.0], [1.0, 1.0]], [[4.0], [3.0]]).numpy().tolist()
    [[2.0], [1.0]]
    """
    return _triangular_solve(matrix, rhs, bool(lower), bool(adjoint))


@public
@op("Cholesky", infer=square, saves="y", flops=flops.cube(1 / 3), traits="blockwise")
def cholesky(input):
    """Return the lower triangular L with `L Lᴴ = input`, for Hermitian positive definite matrices; NaN for others.

    Only the lower triangle is read; the gradient is symmetrised.

    >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    if 0 in input.shape:
        return input
    return lax.linalg.cholesky(wide(input), symmetrize_input=False).astype(input.dtype)


@gradient(cholesky)
def _(dy, y):  # dA = ½ L⁻ᴴ (P + Pᴴ) L⁻¹, where P is the lower triangle of Lᴴ dL, halved on the diagonal
    middle = hermitian(matmul(y, dy, adjoint_a=True))
    half = triangular_solve(y, middle, adjoint=True)
    return triangular_solve(y, adjoint(half), adjoint=True) / 2.0


@public
def cholesky_solve(chol, rhs, name=None) -> Tensor:
    """Return X of `A X = rhs`, where `chol` is the Cholesky factor of A, [..., m, m], and `rhs` is [..., m, k].

    >>> tf.linalg.cholesky_solve(tf.linalg.cholesky([[4.0, 0.0], [0.0, 9.0]]), [[8.0], [9.0]]).numpy().tolist()
    [[2.0], [1.0]]
    """
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True)


# ---------------------------------------------------------------------------------------------------------------------
# Inverses and square systems


@op(
    "MatrixInverse", infer=square, saves="y", refuses=_singular, flops=flops.cube(2), traits="blockwise",
)  # fmt: skip
def _inverse(input, *, adjoint=False):
    if 0 in input.shape:
        return input
    y = jnp.linalg.inv(wide(input)).astype(input.dtype)
    return _turned(y) if adjoint else y


@gradient(_inverse)
def _(dy, y, *, adjoint):  # dA = −A⁻ᴴ dy A⁻ᴴ
    if adjoint:
        return -matmul(y, matmul(dy, y, adjoint_a=True))
    return -matmul(matmul(y, dy, adjoint_a=True), y, adjoint_b=True)


@public
def inv(input, adjoint=False, name=None) -> Tensor:
    """Return the inverse of square matrices, or with `adjoint` its conjugate transpose. InvalidArgumentError for singular
    ones.

    >>> tf.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy().tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return _inverse(tensor(input), bool(adjoint))


def _solve_rule(matrix, rhs, adjoint):
    check_matrix(matrix)
    if matrix.shape[-1] != matrix.shape[-2]:
        raise invalid(f"First input (lhs) must be a square matrix. Received shape {plain(matrix.shape)}.")
    if matrix.ndim != rhs.ndim:
        raise invalid(
            f"All input tensors must have the same rank. Received shapes {plain(matrix.shape)} and {plain(rhs.shape)}: a vector "
            "as rhs needs an axis of extent 1 at its end (expand_dims)."
        )
    if matrix.shape[:-2] != rhs.shape[:-2]:
        raise invalid(
            f"All input tensors must have the same outer dimensions. Received shapes {plain(matrix.shape)} and "
            f"{plain(rhs.shape)}: batches do not broadcast here."
        )
    if matrix.shape[-1] != rhs.shape[-2]:
        raise invalid(
            f"Input matrix and rhs are incompatible.\nReceived shapes {plain(matrix.shape)} and {plain(rhs.shape)}: rhs must "
            "have as many rows as the matrix."
        )
    return rhs


@op(
    "MatrixSolve", infer=_solve_rule, saves="matrix y", refuses=_singular_system,
    flops=lambda attrs, inputs, result: result.size * 2 * inputs[0].shape[-1] + flops.lu(attrs, inputs, result),
    traits="blockwise",
)  # fmt: skip
def _solve(matrix, rhs, *, adjoint=False):
    if 0 in rhs.shape:
        return rhs
    a = _turned(matrix) if adjoint else matrix
    return jnp.linalg.solve(wide(a), wide(rhs)).astype(rhs.dtype)


@gradient(_solve)
def _(dy, matrix, y, needs_matrix, *, adjoint):  # B: A⁻ᴴ dy; A: −dB Xᴴ
    db = _solve(matrix, dy, not adjoint)
    return to_matrix(db, y, adjoint) if needs_matrix else None, db


@public
def solve(matrix, rhs, adjoint=False, name=None) -> Tensor:
    """Return X of `A X = rhs` for square matrices A, [..., m, m], and right-hand sides [..., m, k] with the same batch.

    `adjoint` solves with Aᴴ. InvalidArgumentError for a singular matrix.

    >>> tf.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [[2.0], [8.0]]).numpy().tolist()
    [[1.0], [2.0]]
    """
    return _solve(matrix, rhs, bool(adjoint))


# ---------------------------------------------------------------------------------------------------------------------
# Determinants


def _det_rule(input):
    square(input)
    return aval(input.shape[:-2], input.dtype)


INVERTIBLE = "start from a matrix that can be inverted, such as tf.eye(n)"


@public
@op("MatrixDeterminant", infer=_det_rule, saves="input", flops=flops.lu, traits="blockwise", at_edge=INVERTIBLE)
def det(input):
    """Return the determinants of square matrices: [...]. Derivatives of any order are exact, also for singular ones.

    >>> float(tf.linalg.det([[2.0, 0.0], [0.0, 3.0]]))
    6.0
    """
    if not input.shape[-1]:
        return jnp.ones(input.shape[:-2], dtype=input.dtype)
    found = jnp.linalg.det(wide(input)).astype(input.dtype)
    return jnp.where(jnp.isnan(input).any(axis=(-2, -1)), found * np.nan, found)  # pivoting ignores NaN


@gradient(det)
def _(dy, input):
    return conj(cofactors(input)) * per_matrix(dy)


def per_matrix(x):
    """Add two axes of extent 1 to a tensor with one value per matrix."""
    return _reshape(x, shape=(*x.node.aval.shape, 1, 1))


def _cofactors_rule(*inputs):
    return square(inputs[0])


@op("MatrixCofactors", infer=_cofactors_rule, saves="inputs", traits="own blockwise")
def cofactors(*inputs):
    """Return the matrix of cofactors of the first input A, the derivative of its determinant: det(A)·A⁻ᵀ, but always finite.

    With more inputs, return the derivative with respect to A of the determinant's derivatives in these directions. With A = U
    S Vᴴ the directions become E = Uᴴ δA V. The k-th derivative of det S is a sum over distinct rows i₁, …, iₖ. Each term is
    the minor with row iₘ of Eₘ, in the columns i₁, …, iₖ, times the other singular values.
    """
    a, *directions = [wide(x) for x in inputs]
    if not a.size:
        return inputs[0]
    u, s, vh = jnp.linalg.svd(a)
    turned = [jnp.matmul(jnp.matmul(_turned(u), e), _turned(vh)) for e in directions]
    order, n = len(inputs), s.shape[-1]
    others = _products_of_others(s, order).astype(a.dtype)
    places, batch = string.ascii_lowercase[:order], string.ascii_uppercase[: a.ndim - 2]
    total = jnp.zeros(a.shape, dtype=a.dtype)
    for chosen in itertools.permutations(range(order)):
        sign = (-1.0) ** sum([chosen[i] > chosen[j] for i, j in itertools.combinations(range(order), 2)])
        given = [batch + places, *[f"{batch}{places[i]}{places[chosen[i]]}" for i in range(order - 1)]]
        row, column = places[order - 1], places[chosen[order - 1]]
        kept = batch + (row if row == column else row + column)
        found = jnp.einsum(f"{','.join(given)}->{kept}", others, *turned)
        total = total + sign * (found if row != column else found[..., None] * jnp.eye(n, dtype=a.dtype))
    turn = (jnp.linalg.det(u) * jnp.linalg.det(vh))[..., None, None]
    return (turn * jnp.conj(jnp.matmul(jnp.matmul(u, jnp.conj(total)), vh))).astype(inputs[0].dtype)


def _products_of_others(s, order):
    """Return for each choice of `order` of the numbers `s` the product of the others, [..., n, …, n]; 0 for repeated choices."""
    n = s.shape[-1]
    rows = jnp.broadcast_to(s[..., None, :], (*s.shape[:-1], n + 1, n))
    rows = jnp.where(np.tri(n + 1, n, -1, dtype=bool), jnp.ones_like(rows), rows)
    one = jnp.ones((*s.shape[:-1], n + 1, 1), dtype=s.dtype)
    between = jnp.concatenate(
        [one, lax.cumprod(rows, axis=rows.ndim - 1)], axis=-1
    )  # [i, j]: the product from i up to j, without j
    chosen = np.sort(np.stack(np.meshgrid(*[np.arange(n)] * order, indexing="ij")), 0)
    product = (np.diff(chosen, axis=0) > 0).all(0).astype(s.dtype)
    edges = [np.full_like(chosen[0], -1), *chosen, np.full_like(chosen[0], n)]
    for before, after in itertools.pairwise(edges):
        product = product * between[..., before + 1, after]
    return product


@gradient(cofactors)
def _(dy, inputs, needs_inputs):  # the derivatives of the determinant are symmetric in their directions
    a, *directions = inputs
    dy = conj(dy)
    results = [conj(cofactors(a, *directions, dy)) if needs_inputs[0] else None]
    for i, needed in enumerate(needs_inputs[1:]):
        results.append(conj(cofactors(a, *directions[:i], dy, *directions[i + 1 :])) if needed else None)
    return results


class LogMatrixDeterminant(NamedTuple):
    """The result of `slogdet`."""

    sign: Tensor
    log_abs_determinant: Tensor


def _slogdet_rule(input):
    result = _det_rule(input)
    return result, result


@op("LogMatrixDeterminant", infer=_slogdet_rule, saves="input y0", flops=flops.lu, traits="blockwise", at_edge=INVERTIBLE)
def _slogdet(input):
    if not input.shape[-1]:
        ones = jnp.ones(input.shape[:-2], dtype=input.dtype)
        return ones, jnp.zeros_like(ones)
    sign, logarithm = jnp.linalg.slogdet(wide(input))
    logarithm = jnp.where(jnp.isnan(input).any(axis=(-2, -1)), logarithm * np.nan, logarithm)
    sign = jnp.where(jnp.isnan(logarithm), sign * np.nan, sign)
    return sign.astype(input.dtype), logarithm.astype(input.dtype)


@gradient(_slogdet)
def _(dsign, dlog, input, sign):  # with t = tr(A⁻¹ δA): δlog|det| = Re t, δsign = i·sign·Im t
    if input.dtype.is_complex:
        dlog = complex(real(dlog), -imag(conj(dsign) * sign))
    return per_matrix(dlog) * _inverse(input, True)


@public
def slogdet(input, name=None):
    """Return `(sign, log|det|)` of square matrices, a named tuple, without overflow. For singular ones it is (0, -inf).

    For complex matrices the sign has modulus 1, and both are complex.

    >>> sign, log = tf.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> float(sign), float(log)
    (-1.0, 0.0)
    """
    return LogMatrixDeterminant(*_slogdet(tensor(input)))


@public
def logdet(matrix, name=None) -> Tensor:
    """Return the logarithm of the determinant of Hermitian positive definite matrices, real; NaN for others.

    >>> float(tf.linalg.logdet([[1.0, 0.0], [0.0, 1.0]]))
    0.0
    """
    return 2.0 * reduce_sum(log(real(diag_part(cholesky(matrix)))), -1)


# ---------------------------------------------------------------------------------------------------------------------
# Pseudoinverses


def _pinv_rule(a, rcond):
    check_matrix(a)
    return aval((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


@op("PseudoInverse", infer=_pinv_rule, saves="a y", mixed=True, traits="own blockwise shares_last")
def _pinv(a, rcond):
    shape = (*a.shape[:-2], a.shape[-1], a.shape[-2])
    if not a.size:
        return jnp.zeros(shape, dtype=a.dtype)
    u, s, vh = jnp.linalg.svd(wide(a), full_matrices=False)
    kept = s > rcond[..., None].astype(s.dtype) * s[..., :1]
    inverse = jnp.where(kept, 1 / jnp.where(kept, s, jnp.ones_like(s)), jnp.zeros_like(s)).astype(u.dtype)
    v, uh = _turned(vh), _turned(u)
    return jnp.matmul(v * inverse[..., None, :], uh).astype(a.dtype)


@gradient(_pinv)
def _(dy, a, y):
    return _pinv_gradient(a, y, dy), None


def _pinv_gradient(a, y, dy):
    # dA = −Yᴴ dy Yᴴ + (1 − A Y) dyᴴ Y Yᴴ + Yᴴ Y dyᴴ (1 − Y A), if the rank is constant. Golub and Pereyra, "The differentiation
    # of pseudo-inverses" (1973).
    first = matmul(matmul(y, dy, adjoint_a=True), y, adjoint_b=True)
    left = matmul(matmul(dy, y, adjoint_a=True), y, adjoint_b=True)
    right = matmul(y, matmul(y, dy, adjoint_b=True), adjoint_a=True)
    return left - matmul(a, matmul(y, left)) + right - matmul(matmul(right, y), a) - first


def check_float_matrix(a):
    """Raise TypeError or ValueError, as TensorFlow's composed functions do, unless `a` holds floating matrices."""
    if not (a.dtype.is_floating or a.dtype.is_complex):
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}). Use tf.cast.")
    if a.ndim < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {a.ndim}): matrices stand in the last two axes.")


def _cutoff(shape, dtype):
    """Return the fraction of the largest singular value below which singular values of matrices of `shape` count as 0."""
    return 10.0 * max(shape[-2:]) * float(np.finfo(dtype).eps)


@public
def pinv(a, rcond=None, validate_args=False, name=None) -> Tensor:
    """Return the Moore-Penrose pseudoinverse of matrices [..., m, n]: [..., n, m].

    Singular values up to `rcond` times the largest count as 0; `rcond` (a scalar or [...]) is by default 10·max(m, n)·ε, with
    the dtype's machine epsilon ε. The gradient assumes a constant rank.

    >>> tf.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).numpy().round(4).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    a = tensor(a)
    check_float_matrix(a)
    kind = a.dtype.real_dtype
    if rcond is None:
        rcond = _cutoff(extents_of(a), kind.numpy)
    return _pinv(a, rcond if is_tensor(rcond) else tensor(rcond, kind))


# ---------------------------------------------------------------------------------------------------------------------
# Least squares


def _least_squares_rule(matrix, rhs, l2_regularizer, fast):
    check_matrix(matrix)
    check_matrix(rhs, 1)
    if matrix.shape[:-2] != rhs.shape[:-2]:
        raise invalid(f"Batch dimensions of matrix and rhs must be equal: {plain(matrix.shape)} and {plain(rhs.shape)}.")
    if matrix.shape[-2] != rhs.shape[-2]:
        raise invalid(
            f"Input matrix and rhs are incompatible: {plain(matrix.shape)} and {plain(rhs.shape)} must have as many rows."
        )
    return aval((*matrix.shape[:-2], matrix.shape[-1], rhs.shape[-1]), rhs.dtype)


@op("MatrixSolveLs", infer=_least_squares_rule, saves="matrix rhs y", traits="blockwise")
def _least_squares(matrix, rhs, *, l2_regularizer, fast):
    a, b = wide(matrix), wide(rhs)
    if 0 in a.shape or 0 in b.shape:
        return jnp.zeros((*a.shape[:-2], a.shape[-1], b.shape[-1]), dtype=rhs.dtype)
    if not fast:
        cutoff = _cutoff(a.shape, jnp.finfo(a.dtype).dtype)
        return jnp.matmul(_pinv.op.kernel(a, jnp.array(cutoff, jnp.finfo(a.dtype).dtype)), b).astype(rhs.dtype)
    tall = a.shape[-2] >= a.shape[-1]
    gram = jnp.matmul(_turned(a), a) if tall else jnp.matmul(a, _turned(a))
    factor = lax.linalg.cholesky(gram + l2_regularizer * jnp.eye(gram.shape[-1], dtype=a.dtype), symmetrize_input=False)

    def solved(b):
        half = lax.linalg.triangular_solve(factor, b, left_side=True, lower=True)
        return lax.linalg.triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True)

    return (solved(jnp.matmul(_turned(a), b)) if tall else jnp.matmul(_turned(a), solved(b))).astype(rhs.dtype)


@gradient(_least_squares)
def _(dy, matrix, rhs, y, *, l2_regularizer, fast):
    if not fast:  # X = A⁺ B
        inverse = pinv(matrix)
        return _pinv_gradient(matrix, inverse, matmul(dy, rhs, adjoint_b=True)), matmul(inverse, dy, adjoint_a=True)
    tall = extents_of(matrix)[-2] >= extents_of(matrix)[-1]
    factor = cholesky(_regularized(matmul(matrix, matrix, adjoint_a=tall, adjoint_b=not tall), l2_regularizer))
    if tall:  # X = C⁻¹ Aᴴ B with C = Aᴴ A + λ
        z = cholesky_solve(factor, dy)
        db = matmul(matrix, z)
        return matmul(rhs - matmul(matrix, y), z, adjoint_b=True) - matmul(db, y, adjoint_b=True), db
    # X = Aᴴ D with D = C⁻¹ B and C = A Aᴴ + λ
    d, db = cholesky_solve(factor, rhs), cholesky_solve(factor, matmul(matrix, dy))
    rest = dy - matmul(matrix, db, adjoint_a=True)
    return matmul(d, rest, adjoint_b=True) - matmul(db, y, adjoint_b=True), db


def _regularized(gram, l2_regularizer):
    return set_diag(gram, diag_part(gram) + l2_regularizer) if l2_regularizer else gram


@public
def lstsq(matrix, rhs, l2_regularizer=0.0, fast=True, name=None) -> Tensor:
    """Return the X, [..., n, k], that minimises `‖A X − rhs‖² + l2_regularizer·‖X‖²` for A [..., m, n] and rhs [..., m, k].

    For m < n, without regularisation, it is the X of least norm with `A X = rhs`. `fast` solves the normal equations by
    Cholesky's method, which needs full rank (else NaN) and loses accuracy if A is ill-conditioned. Otherwise X is `pinv(A)
    rhs`, without regularisation.

    >>> tf.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [[1.0], [3.0], [5.0]]).numpy().round(4).tolist()
    [[1.0], [2.0]]
    """
    return _least_squares(matrix, rhs, l2_regularizer=float(l2_regularizer), fast=bool(fast))
