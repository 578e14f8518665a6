"""Factorisations of matrices: QR, singular values, eigenvalues, LU.

Matrices are the last two axes, batches the axes in front. For equal singular values or eigenvalues the vectors are not unique,
and have no derivative, so a gradient that passes through them is NaN. A cotangent of exactly 0 has the gradient 0 there, as
for vectors that are not used, although this may be wrong. Functions of a matrix, which have a derivative, are in
`derivatives/spectral`.
"""

from typing import NamedTuple

import numpy as np

from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import jnp, lax
from gradtape._src.core.tensors.convert import tensor
from gradtape._src.core.tensors.tensor import Tensor, extents_of
from gradtape._src.core.values import dtypes
from gradtape._src.core.values.aval import aval
from gradtape._src.ops import flops
from gradtape._src.ops.array.cast import cast
from gradtape._src.ops.array.creation import eye, ones_like, zeros_like
from gradtape._src.ops.array.gather import gather
from gradtape._src.ops.array.joining import concat
from gradtape._src.ops.array.select import where
from gradtape._src.ops.array.shape import broadcast_to, ones, plain, reshape, stop_gradient, zeros
from gradtape._src.ops.array.sort import invert_permutation
from gradtape._src.ops.floats import wide
from gradtape._src.ops.linalg.diagonals import adjoint, band_part, diag, diag_part, set_diag
from gradtape._src.ops.linalg.matmul import matmul
from gradtape._src.ops.linalg.systems import (
    check_matrix,
    hermitian,
    is_singular,
    solve,
    square as square_matrix,
    triangular_solve,
)
from gradtape._src.ops.math.arithmetic import abs as abs_, reciprocal
from gradtape._src.ops.math.compare import equal
from gradtape._src.ops.math.complex import conj, real
from gradtape._src.ops.math.reduction import reduce_max
from gradtape._src.ops.math.segment import take_rows
from gradtape._src.ops.shapes import broadcast_shapes, require


def _real_type(dtype):
    """Return the NumPy dtype of the absolute values of numbers of `dtype`."""
    return dtypes.as_dtype(dtype).real_dtype.numpy


DIGITS = 100  # values that differ by fewer units of rounding count as equal: a quotient by their difference has no correct digit


def _over_differences(w, x, of):
    """Return `wᵢⱼ / (xⱼ − xᵢ)` for real `x`, off the diagonal; see `_over`."""
    row, column = reshape(x, (*extents_of(x)[:-1], 1, extents_of(x)[-1])), reshape(x, (*extents_of(x), 1))
    return _over(set_diag(w, zeros(extents_of(w)[:-1], w.dtype)), row - column, _largest(row), _largest(of))


def _over(w, x, largest_x, largest_w):
    """Return `w / x`; where `x` is 0 to rounding it is NaN, or 0 if `w` is 0 to rounding, too.

    Zero to rounding is relative to the largest of the values from which a number was computed.
    """
    vanishing = _vanishes(x, largest_x)
    inverse = reciprocal(cast(where(vanishing, ones_like(x), x), w.dtype))
    unknown = where(_vanishes(w, largest_w), zeros_like(w), zeros_like(w) + float("nan"))
    shape = extents_of(w)
    return w * where(broadcast_to(vanishing, shape), unknown, broadcast_to(inverse, shape))  # NaN in forward mode, too


def _largest(x):
    return reduce_max(abs_(stop_gradient(x)), [-2, -1], keepdims=True)


def _vanishes(x, largest):
    return abs_(stop_gradient(x)) <= largest * (DIGITS * float(np.finfo(_real_type(x.dtype)).eps))


# ---------------------------------------------------------------------------------------------------------------------
# QR


class Qr(NamedTuple):
    """The result of `qr`."""

    q: Tensor
    r: Tensor


def _qr_rule(input, full_matrices):
    check_matrix(input)
    *batch, m, n = input.shape
    k = m if full_matrices else min(m, n)
    return aval((*batch, m, k), input.dtype), aval((*batch, k, n), input.dtype)


@op("Qr", infer=_qr_rule, saves="input y0 y1", flops=flops.qr, traits="blockwise reflects")
def _qr(input, *, full_matrices):
    q, r = jnp.linalg.qr(wide(input), mode="complete" if full_matrices else "reduced")
    return q.astype(input.dtype), r.astype(input.dtype)


@gradient(_qr)
def _(dq, dr, input, q, r):
    m, n = extents_of(input)[-2:]
    if extents_of(q)[-1] > n + 1:
        raise NotImplementedError(
            f"QrGrad not implemented when nrows > ncols + 1 and full_matrices is true: more than one column of q is not "
            f"unique. Received r.shape={r.shape} with nrows={m} and ncols={n}. Call qr with full_matrices=False."
        )
    if extents_of(q)[-1] > n:  # the last column is orthogonal to the others: δQ₂ = −Q₁ δQ₁ᴴ Q₂
        q, last, dq, dlast = q[..., :n], q[..., n:], dq[..., :n], dq[..., n:]
        return _qr_gradient(q, r[..., :n, :], dq - matmul(last, matmul(dlast, q, adjoint_a=True)), dr[..., :n, :])
    if m >= n:
        return _qr_gradient(q, r, dq, dr)
    # wide: A = [X | Y], R = [U | V] with X = Q U and Y = Q V
    rest, dv = input[..., m:], dr[..., m:]
    dx = _qr_gradient(q, r[..., :m], dq + matmul(rest, dv, adjoint_b=True), dr[..., :m])
    return concat([dx, matmul(q, dv)], -1)


def _qr_gradient(q, r, dq, dr):
    """Return dA = (dQ + Q S) R⁻ᴴ. S is the Hermitian matrix with the upper triangle of N = dR Rᴴ − Qᴴ dQ."""
    lower = adjoint(matmul(dr, r, adjoint_b=True) - matmul(q, dq, adjoint_a=True))
    inner = dq + matmul(q, hermitian(lower))
    return adjoint(triangular_solve(r, adjoint(inner), lower=False))


@public
def qr(input, full_matrices=False, name=None):
    """Return `(q, r)`, a named tuple, with `q r = input`: the columns of q are orthonormal, r is upper triangular.

    For [..., m, n] q has min(m, n) columns, or m if `full_matrices`. The full matrices have no gradient (NotImplementedError)
    if m > n + 1, as more than one column of q is then not unique.

    >>> q, r = tf.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> tf.matmul(q, r).numpy().round(4).tolist()
    [[3.0, 1.0], [4.0, 2.0]]
    """
    return Qr(*_qr(tensor(input), full_matrices=bool(full_matrices)))


# ---------------------------------------------------------------------------------------------------------------------
# Singular values


def _svd_rule(input, compute_uv, full_matrices):
    check_matrix(input)
    *batch, m, n = input.shape
    k = min(m, n)
    s = aval((*batch, k), _real_type(input.dtype))
    if not compute_uv:
        return s
    return (
        s,
        aval((*batch, m, m if full_matrices else k), input.dtype),
        aval((*batch, n, n if full_matrices else k), input.dtype),
    )


@op(
    "Svd", infer=_svd_rule, saves="input y0 y1 y2", traits="blockwise",
    at_edge="keep the singular values apart: add a small random matrix",
)  # fmt: skip
def _svd(input, *, compute_uv, full_matrices):
    kind = _real_type(input.dtype)
    if not compute_uv:
        return jnp.linalg.svd(wide(input), compute_uv=False).astype(kind)
    u, s, vh = jnp.linalg.svd(wide(input), full_matrices=full_matrices)
    return s.astype(kind), u.astype(input.dtype), jnp.conj(jnp.swapaxes(vh, -1, -2)).astype(input.dtype)


@gradient(_svd)
def _(ds, du=None, dv=None, *, input, full_matrices, op):
    if du is None:
        _, u, v = _svd(input, compute_uv=True, full_matrices=False)
        return matmul(u, _times_diagonal(cast(ds, input.dtype), v))
    s, u, v = op.outputs
    m, n = extents_of(input)[-2:]
    if full_matrices and abs(m - n) > 1:
        raise NotImplementedError(
            f"svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True. Received: m={m} and n={n} from "
            f"an input of shape {input.shape}. Call svd with full_matrices=False."
        )
    return _svd_gradient(cast(s, input.dtype), u, v, cast(ds, input.dtype), du, dv)


def _times_diagonal(s, v):
    return reshape(s, (*extents_of(s), 1)) * adjoint(v)


def _svd_gradient(s, u, v, ds, du, dv):
    # dA = U (diag(ds) + (J + Jᴴ) S + S (K + Kᴴ)) Vᴴ, with J = F ∘ Uᴴ dU, K = F ∘ Vᴴ dV and Fᵢⱼ = 1 / (sⱼ² − sᵢ²), and for
    # each of U and V the part outside of the span of its columns. Townsend, "Differentiating the singular value decomposition"
    # (2016).
    k = extents_of(s)[-1]
    u1, u2, v1, v2 = u[..., :k], u[..., k:], v[..., :k], v[..., k:]
    du1, du2, dv1, dv2 = du[..., :k], du[..., k:], dv[..., :k], dv[..., k:]
    values = real(s)
    row, column = reshape(s, (*extents_of(s)[:-1], 1, k)), reshape(s, (*extents_of(s), 1))
    sums = row + column
    sums = where(equal(sums, zeros_like(sums)), ones_like(sums), sums)  # for two zeros, which do not differ
    u_du, v_dv = matmul(u1, du1, adjoint_a=True), matmul(v1, dv1, adjoint_a=True)
    j, l = _over_differences(u_du / sums, values, du1), _over_differences(v_dv / sums, values, dv1)
    middle = diag(ds) + (j + adjoint(j)) * row + column * (l + adjoint(l))
    across = reshape(values, (*extents_of(s)[:-1], 1, k))
    if s.dtype.is_complex:  # the phases of U and V change together
        turned = diag_part(v_dv)
        phases = reshape((conj(turned) - turned) / 2.0, extents_of(row))
        middle = middle + diag(reshape(_over(phases, across, _largest(across), _largest(dv1)), extents_of(s)))
    da = matmul(matmul(u1, middle), v1, adjoint_b=True)
    if extents_of(u)[-2] > k:
        out = _over(_outwards(u1, u2, du1, du2, u_du), across, _largest(across), _largest(du))
        da = da + matmul(out, v1, adjoint_b=True)
    if extents_of(v)[-2] > k:
        out = _over(_outwards(v1, v2, dv1, dv2, v_dv), across, _largest(across), _largest(dv))
        da = da + matmul(u1, out, adjoint_b=True)
    return da


def _outwards(x1, x2, dx1, dx2, x_dx):
    """Return the cotangents of orthonormal columns `x1`, and of their complement `x2`, projected out of their span."""
    out = dx1 - matmul(x1, x_dx)
    return out - matmul(x2, matmul(dx2, x1, adjoint_a=True)) if extents_of(x2)[-1] else out


@public
def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Return `(s, u, v)` with `u diag(s) vᴴ = tensor`: singular values, largest first, and orthonormal columns; or only `s`.

    For [..., m, n] `s` has min(m, n) real values and u and v as many columns, or m and n if `full_matrices`. The gradient is
    valid for functions of u and v that do not depend on their signs (or phases). At equal singular values u and v have no
    derivative, and `s` no second one: NaN. `tf.autodiff.singular_value_function` and `singular_value_sum` have these
    derivatives.

    >>> s, u, v = tf.linalg.svd([[3.0, 0.0], [0.0, 4.0]])
    >>> s.numpy()
    array([4., 3.], dtype=float32)
    """
    x = _as_tensor(tensor)
    if compute_uv:
        return _svd(x, compute_uv=True, full_matrices=bool(full_matrices))
    return _svd(x, compute_uv=False, full_matrices=False)


_as_tensor = tensor  # where a parameter has TensorFlow's name `tensor`


# ---------------------------------------------------------------------------------------------------------------------
# Eigenvalues of Hermitian matrices


def _eigh_rule(input, compute_v):
    square_matrix(input)
    e = aval(input.shape[:-1], input.dtype)
    return (e, input) if compute_v else e


@op(
    "SelfAdjointEigV2", infer=_eigh_rule, saves="input y0 y1", traits="blockwise",
    at_edge="keep the eigenvalues apart: add a small random matrix",
)  # fmt: skip
def _eigh(input, *, compute_v):
    if 0 in input.shape:
        e = jnp.zeros(input.shape[:-1], dtype=input.dtype)
        return (e, input) if compute_v else e
    matrix = _lower(wide(input))
    valid = jnp.isfinite(matrix).all((-2, -1))[..., None]  # LAPACK may return numbers for NaN
    if not compute_v:
        return jnp.where(valid, jnp.linalg.eigvalsh(matrix), jnp.nan).astype(input.dtype)
    v, e = lax.linalg.eigh(matrix, symmetrize_input=False)
    return jnp.where(valid, e, jnp.nan).astype(input.dtype), v.astype(input.dtype)


def _lower(x):
    """Return the Hermitian matrix that has the lower triangle of `x`."""
    lower = jnp.tril(x, -1)
    on = jnp.real(jnp.diagonal(x, axis1=-2, axis2=-1)).astype(x.dtype)
    return lower + jnp.conj(jnp.swapaxes(lower, -1, -2)) + on[..., None] * jnp.eye(x.shape[-1], dtype=x.dtype)


@gradient(_eigh)
def _(
    de, dv=None, *, input, op
):  # dA = V (diag(de) + F ∘ Vᴴ dV) Vᴴ with Fᵢⱼ = 1 / (eⱼ − eᵢ), for the lower triangle, the one that is read
    if dv is None:
        _, v = _eigh(input, compute_v=True)
        middle = diag(de)
    else:
        e, v = op.outputs
        middle = diag(de) + _over_differences(matmul(v, dv, adjoint_a=True), real(e), dv)
    da = matmul(matmul(v, middle), v, adjoint_b=True)
    da = band_part(da + adjoint(da), -1, 0)
    return set_diag(da, diag_part(da) / 2.0)


@public
def eigh(tensor, name=None):
    """Return `(e, v)` of Hermitian matrices: eigenvalues, smallest first, in the dtype of `tensor`, and eigenvectors as
    columns.

    Only the lower triangle is read, and gets the gradient. NaN for a matrix with an element that is not finite. At equal
    eigenvalues the vectors have no derivative: the gradient is NaN, or 0 if the cotangent is exactly 0. That 0 is wrong for `v
    · log(e) · vᴴ` at the identity. Compute functions of a matrix by `tf.autodiff.eigenvalue_function`.

    >>> values, vectors = tf.linalg.eigh([[2.0, 0.0], [0.0, 1.0]])
    >>> values.numpy()
    array([1., 2.], dtype=float32)
    """
    return _eigh(_as_tensor(tensor), compute_v=True)


@public
def eigvalsh(tensor, name=None) -> Tensor:
    """Return the eigenvalues of Hermitian matrices, smallest first, in the dtype of `tensor`. Only the lower triangle is read.

    At equal eigenvalues they have no second derivative: NaN. `tf.autodiff.eigenvalue_sum`, a sum over them, has one.

    >>> tf.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]).numpy()
    array([1., 2.], dtype=float32)
    """
    return _eigh(_as_tensor(tensor), compute_v=False)


# ---------------------------------------------------------------------------------------------------------------------
# Eigenvalues of any square matrices


def _eig_rule(input, compute_v):
    square_matrix(input)
    require(input, ("float64", "float32", "complex64", "complex128"))
    kind = np.promote_types(input.dtype, np.complex64)
    e = aval(input.shape[:-1], kind)
    return (e, aval(input.shape, kind)) if compute_v else e


@op("Eig", unhosted="NumPy has no twin of it", infer=_eig_rule, saves="input y0 y1", traits="blockwise")
def _eig(input, *, compute_v):
    if compute_v:
        return tuple(lax.linalg.eig(input, compute_left_eigenvectors=False))
    return lax.linalg.eig(input, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@gradient(_eig)
def _(de, dv=None, *, input, op):
    # dA = V⁻ᴴ (diag(de) + F̄ ∘ (Vᴴ dV − Vᴴ V Re diag(Vᴴ dV))) Vᴴ with Fᵢⱼ = 1 / (eⱼ − eᵢ), as the columns of V have norm 1.
    # Boeddeker et al., "On the computation of complex-valued gradients" (2017), equation 4.77.
    if dv is None:
        _, v = _eig(input, compute_v=True)
        middle = diag(de)
    else:
        e, v = op.outputs
        v_dv = matmul(v, dv, adjoint_a=True)
        along = diag(cast(real(diag_part(v_dv)), v.dtype))
        inner = v_dv - matmul(matmul(v, v, adjoint_a=True), along)
        middle = diag(de) + _over_differences(inner, conj(e), dv)
    da = solve(adjoint(v), matmul(middle, v, adjoint_b=True))
    return cast(da, input.dtype)


@public
def eig(tensor, name=None):
    """Return `(e, v)` of square matrices: eigenvalues and eigenvectors (columns of norm 1), complex, in no fixed order.

    >>> values, vectors = tf.eig([[2.0, 0.0], [0.0, 1.0]])
    >>> sorted(values.numpy().real.tolist())
    [1.0, 2.0]
    """
    return _eig(_as_tensor(tensor), compute_v=True)


@public
def eigvals(tensor, name=None):
    """Return the eigenvalues of square matrices, complex, in no fixed order.

    >>> sorted(tf.eigvals([[2.0, 0.0], [0.0, 1.0]]).numpy().real.tolist())
    [1.0, 2.0]
    """
    return _eig(_as_tensor(tensor), compute_v=False)


# ---------------------------------------------------------------------------------------------------------------------
# LU


class Lu(NamedTuple):
    """The result of `lu`."""

    lu: Tensor
    p: Tensor


def _lu_rule(input, output_idx_type):
    square_matrix(input)
    return input, aval(input.shape[:-1], output_idx_type)


@op(
    "Lu", unhosted="NumPy has no twin of it", infer=_lu_rule, saves="y0 y1",
    refuses=lambda input: [(is_singular(input), "Input is not invertible.\nIts rows are linearly dependent.")],
    flops=flops.lu, traits="blockwise",
)  # fmt: skip
def _lu(input, *, output_idx_type):
    factors, _, permutation = lax.linalg.lu(wide(input))
    return factors.astype(input.dtype), permutation.astype(output_idx_type)


@gradient(_lu)
def _(dlu, dp, lu, p):
    # L⁻ᴴ (tril(Lᴴ dL, −1) + triu(dU Uᴴ)) U⁻ᴴ is the cotangent of the permuted rows. Giles, "An extended collection of matrix
    # derivative results" (2008), by the same steps as for Cholesky's factor.
    lower, upper = _lower_unit(lu), band_part(lu, 0, -1)
    dlower, dupper = band_part(dlu, -1, 0) - diag(diag_part(dlu)), band_part(dlu, 0, -1)
    below = band_part(matmul(lower, dlower, adjoint_a=True), -1, 0)
    inner = set_diag(below, zeros(extents_of(below)[:-1], below.dtype)) + band_part(matmul(dupper, upper, adjoint_b=True), 0, -1)
    left = triangular_solve(lower, inner, adjoint=True)
    return _rows(adjoint(triangular_solve(upper, adjoint(left), lower=False)), _inverse_permutation(p))


@public
def lu(input, output_idx_type=dtypes.int32, name=None):
    """Return `(lu, p)`, a named tuple, with `L U = input[p]` for square matrices: L is below the diagonal of lu, and 1 on it.

    InvalidArgumentError for a singular matrix. Unlike in TensorFlow, the factors have a gradient.

    >>> lu, permutation = tf.linalg.lu([[1.0, 2.0], [4.0, 4.0]])
    >>> lu.numpy().tolist(), permutation.numpy().tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    return Lu(*_lu(tensor(input), output_idx_type=dtypes.as_dtype(output_idx_type).numpy))


def _lower_unit(lower_upper):
    return set_diag(band_part(lower_upper, -1, 0), ones(extents_of(lower_upper)[:-1], lower_upper.dtype))


def _rows(x, perm):
    if perm.ndim == 1 and x.ndim == 2:
        return take_rows(x, perm)
    return gather(x, perm, batch_dims=perm.ndim - 1, axis=-2)


def _inverse_permutation(perm):
    if perm.ndim == 1:
        return invert_permutation(perm)
    flat = reshape(perm, (-1, extents_of(perm)[-1]))
    rows = [invert_permutation(flat[i]) for i in range(extents_of(flat)[0])]
    return reshape(concat([reshape(row, (1, -1)) for row in rows], 0), extents_of(perm))


def _check_factors(lower_upper, perm, rhs=None):
    """Raise ValueError unless LU factors, permutation and right-hand side match."""
    if lower_upper.ndim < 2:
        raise ValueError(f"`lower_upper` must have at least 2 dimensions, received shape {lower_upper.shape}.")
    if extents_of(lower_upper)[-1] != extents_of(lower_upper)[-2]:
        raise ValueError(f"`lower_upper` must be square, received shape {lower_upper.shape}.")
    if perm.ndim + 1 != lower_upper.ndim:
        raise ValueError(f"`rank(lower_upper)` must equal `rank(perm) + 1`: {lower_upper.ndim} and {perm.ndim}.")
    if extents_of(perm)[-1] != extents_of(lower_upper)[-1]:
        raise ValueError(f"`lower_upper.shape[-1]` must equal `perm.shape[-1]`: {lower_upper.shape[-1]} and {perm.shape[-1]}.")
    if rhs is not None and (rhs.ndim < 2 or extents_of(rhs)[-2] != extents_of(lower_upper)[-1]):
        raise ValueError(
            f"`lower_upper.shape[-1]` must equal `rhs.shape[-2]`: {plain(lower_upper.shape)} and {plain(rhs.shape)}."
        )


@public
def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """Return the matrices whose `lu` is `(lower_upper, perm)`.

    >>> lu, p = tf.linalg.lu([[0.0, 2.0], [4.0, 0.0]])
    >>> print(tf.linalg.lu_reconstruct(lu, p).numpy())
    [[0. 2.]
     [4. 0.]]
    """
    factors, perm = tensor(lower_upper, hint=dtypes.float32), tensor(perm, hint=dtypes.int32)
    _check_factors(factors, perm)
    return _rows(matmul(_lower_unit(factors), band_part(factors, 0, -1)), _inverse_permutation(perm))


@public
def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """Return X of `A X = rhs`, where `(lower_upper, perm)` is the `lu` of A, [..., m, m], and rhs is [..., m, k].

    >>> lu, p = tf.linalg.lu([[2.0, 0.0], [0.0, 4.0]])
    >>> print(tf.linalg.lu_solve(lu, p, [[2.0], [2.0]]).numpy()[:, 0])
    [1.  0.5]
    """
    factors, perm = tensor(lower_upper, hint=dtypes.float32), tensor(perm, hint=dtypes.int32)
    rhs = tensor(rhs, hint=factors.dtype)
    _check_factors(factors, perm, rhs)
    outer = broadcast_shapes(extents_of(rhs)[:-2], extents_of(perm)[:-1])
    rhs, perm = broadcast_to(rhs, (*outer, *extents_of(rhs)[-2:])), broadcast_to(perm, (*outer, extents_of(perm)[-1]))
    return triangular_solve(factors, triangular_solve(_lower_unit(factors), _rows(rhs, perm)), lower=False)


@public
def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """Return the inverses of the matrices whose `lu` is `(lower_upper, perm)`.

    >>> lu, p = tf.linalg.lu([[2.0, 0.0], [0.0, 4.0]])
    >>> print(tf.linalg.lu_matrix_inverse(lu, p).numpy())
    [[0.5  0.  ]
     [0.   0.25]]
    """
    factors = tensor(lower_upper, hint=dtypes.float32)
    shape = extents_of(factors)
    return lu_solve(factors, perm, eye(shape[-1], batch_shape=shape[:-2], dtype=factors.dtype))
