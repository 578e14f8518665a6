"""Tridiagonal and banded matrices: products, solves, eigenvalues."""

import jax
import numpy as np

from gradtape._src.core.base.errors import invalid
from gradtape._src.core.base.public import public
from gradtape._src.core.declarations.define import gradient, op
from gradtape._src.core.platform.arrays import at, jnp, lax
from gradtape._src.core.tensors.convert import static_list, tensor
from gradtape._src.core.tensors.tensor import extents_of, to_numpy
from gradtape._src.core.values.aval import aval
from gradtape._src.ops.array.joining import concat, stack
from gradtape._src.ops.array.shape import expand_dims, plain, reshape, squeeze, zeros
from gradtape._src.ops.floats import wide
from gradtape._src.ops.linalg.decompositions import eigh, eigvalsh
from gradtape._src.ops.linalg.diagonals import diag, diag_part, matrix_transpose
from gradtape._src.ops.linalg.systems import check_matrix, to_matrix
from gradtape._src.ops.math.complex import conj, real
from gradtape._src.ops.math.cumulative import shift
from gradtape._src.ops.math.reduction import reduce_sum
from gradtape._src.ops.shapes import broadcast_shapes, require

SOLVABLE = ("float64", "float32", "complex64", "complex128")


def _next(x):
    """Return the rows of `x` moved up by one; the last row is 0."""
    return shift(x, axis=x.ndim - 2, reverse=True)


def _previous(x):
    """Return the rows of `x` moved down by one; the first row is 0."""
    return shift(x, axis=x.ndim - 2, reverse=False)


def as_compact(diagonals, diagonals_format):
    """Convert three diagonals, given in one of TensorFlow's formats, to [..., 3, m]: above, main, below."""
    if diagonals_format == "compact":
        x = tensor(diagonals)
        if x.ndim < 2 or extents_of(x)[-2] != 3:
            raise ValueError(f"Expected diagonals of shape [..., 3, m], received {x.shape}.")
        return x
    if diagonals_format == "matrix":
        x = tensor(diagonals)
        if x.ndim < 2 or extents_of(x)[-1] != extents_of(x)[-2]:
            raise ValueError(f"Expected last two dimensions of diagonals to be same, got shape {x.shape}.")
        return diag_part(x, k=(-1, 1), align="LEFT_RIGHT")
    if diagonals_format != "sequence":
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}. Give 'compact', 'sequence' or 'matrix'.")
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError("Expected diagonals to be a sequence of length 3.")
    above, main, below = [tensor(part) for part in diagonals]
    count = extents_of(main)[-1]
    above, below = _filled_up(above, count, reverse=True), _filled_up(below, count, reverse=False)
    return stack([above, main, below], -2)


def _filled_up(x, count, reverse):
    """Pad a diagonal above (`reverse`) or below the main one to `count`, the length of the main one."""
    if extents_of(x)[-1] == count:
        return x
    if extents_of(x)[-1] != count - 1:
        raise ValueError(f"Expected diagonals of {count} or {count - 1} elements beside the main one, received {x.shape}.")
    padding = zeros((*extents_of(x)[:-1], 1), x.dtype)
    return concat([x, padding] if reverse else [padding, x], -1)


def turned(diagonals):
    """Return the compact diagonals of the transposed matrices."""
    axis = diagonals.ndim - 1
    above, main, below = [diagonals[..., i : i + 1, :] for i in range(3)]
    return concat([shift(below, axis=axis, reverse=True), main, shift(above, axis=axis, reverse=False)], -2)


# ---------------------------------------------------------------------------------------------------------------------
# Products


def _product_rule(superdiag, maindiag, subdiag, rhs):
    require(superdiag, SOLVABLE)
    check_matrix(rhs, 3)
    expected = (*rhs.shape[:-2], 1, rhs.shape[-2])
    for name, x in (("superdiagonal", superdiag), ("main diagonal", maindiag), ("subdiagonal", subdiag)):
        if x.shape != expected:
            raise invalid(f"Invalid {name} shape: {plain(x.shape)}. For rhs {plain(rhs.shape)} it must be {plain(expected)}.")
    return rhs


@op("TridiagonalMatMul", infer=_product_rule, saves="superdiag maindiag subdiag rhs")
def _tridiagonal_matmul(superdiag, maindiag, subdiag, rhs):
    above, main, below = [jnp.swapaxes(x, -1, -2) for x in (superdiag, maindiag, subdiag)]
    zero = jnp.zeros_like(rhs[..., :1, :])
    following = jnp.concatenate([rhs[..., 1:, :], zero], -2)
    preceding = jnp.concatenate([zero, rhs[..., :-1, :]], -2)
    return above * following + main * rhs + below * preceding


@gradient(_tridiagonal_matmul)
def _(dy, superdiag, maindiag, subdiag, rhs):
    above, main, below, rhs = [conj(x) for x in (superdiag, maindiag, subdiag, rhs)]
    parts = [expand_dims(reduce_sum(x * dy, -1), -2) for x in (_next(rhs), rhs, _previous(rhs))]
    above, main, below = [reshape(x, (*extents_of(x)[:-2], extents_of(x)[-1], 1)) for x in (above, main, below)]
    return *parts, _previous(above * dy) + main * dy + _next(below * dy)


@public
def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """Return the product of tridiagonal matrices, [..., m, m], and `rhs`, [..., m, n].

    `diagonals` is "compact" ([..., 3, m]: above, main, below; the last of the first and the first of the last are not read), a
    "sequence" of these three, or a "matrix".

    >>> diagonals = [[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]]
    >>> print(tf.linalg.tridiagonal_matmul(diagonals, tf.ones([3, 1]), "compact").numpy()[:, 0])
    [3. 4. 3.]
    """
    compact = as_compact(diagonals, diagonals_format)
    above, main, below = [compact[..., i : i + 1, :] for i in range(3)]
    return _tridiagonal_matmul(above, main, below, rhs)


# ---------------------------------------------------------------------------------------------------------------------
# Solves


def _solve_rule(diagonals, rhs, partial_pivoting, perturb_singular):
    require(diagonals, SOLVABLE)
    check_matrix(diagonals)
    check_matrix(rhs, 1)
    if diagonals.shape[-2] != 3:
        raise invalid(f"Expected diagonals of shape [..., 3, m], received {plain(diagonals.shape)}.")
    if diagonals.shape[:-2] != rhs.shape[:-2] or diagonals.shape[-1] != rhs.shape[-2]:
        raise ValueError(
            f"diagonals {plain(diagonals.shape)} and rhs {plain(rhs.shape)} do not fit: for [..., 3, m] rhs must be [..., m, k]."
        )
    return rhs


@op("TridiagonalSolve", unhosted="it loops", infer=_solve_rule, saves="diagonals y")
def _tridiagonal_solve(diagonals, rhs, *, partial_pivoting, perturb_singular):
    if not rhs.size:
        return rhs
    m = rhs.shape[-2]
    bands, b = diagonals.reshape(-1, 3, m), rhs.reshape(-1, *rhs.shape[-2:])
    below = at(bands[:, 2])[:, 0].set(0)
    above = at(bands[:, 0])[:, -1].set(0)
    solved = jax.vmap(_solve_one)(below, bands[:, 1], above, b)
    return solved.reshape(rhs.shape)


def _solve_one(below, main, above, b):
    """Solve one tridiagonal system by Gaussian elimination with row exchanges. The state of a step is a row of three elements."""
    zero = jnp.zeros((), main.dtype)

    def eliminate(row, following):
        pivot, second, third, value = row
        low, middle, high, b = following
        swap = jnp.abs(low) > jnp.abs(pivot)

        def pick(x, y):
            return jnp.where(swap, x, y)

        upper = pick(low, pivot), pick(middle, second), pick(high, third), pick(b, value)
        lower = pick(pivot, low), pick(second, middle), pick(third, high), pick(value, b)
        factor = lower[0] / upper[0]
        left = lower[1] - factor * upper[1], lower[2] - factor * upper[2], zero, lower[3] - factor * upper[3]
        return left, upper

    start = (main[0], above[0], zero, b[0])
    last, rows = lax.scan(eliminate, start, (below[1:], main[1:], above[1:], b[1:]))
    x_last = last[3] / last[0]

    def substitute(after, row):
        pivot, second, third, value = row
        x = (value - second * after[0] - third * after[1]) / pivot
        return (x, after[0]), x

    _, xs = lax.scan(substitute, (x_last, jnp.zeros_like(x_last)), rows, reverse=True)
    return jnp.concatenate([xs, x_last[None]])


@gradient(_tridiagonal_solve)
def _(dy, diagonals, y, needs_diagonals, **attributes):  # rhs: A⁻ᴴ dy; A: −(A⁻ᴴ dy) xᴴ on its three diagonals
    db = _tridiagonal_solve(turned(conj(diagonals)), dy, **attributes)
    if not needs_diagonals:
        return None, db
    x = conj(y)
    return -stack([reduce_sum(db * other, -1) for other in (_next(x), x, _previous(x))], -2), db


@public
def tridiagonal_solve(
    diagonals,
    rhs,
    diagonals_format="compact",
    transpose_rhs=False,
    conjugate_rhs=False,
    name=None,
    partial_pivoting=True,
    perturb_singular=False,
):
    """Return X of `A X = rhs` for tridiagonal matrices A; `rhs` is [..., m, k], or [..., m] for one right-hand side each.

    `diagonals` is that of `tridiagonal_matmul`. Pivoting is always on; `partial_pivoting` has no effect. A singular matrix
    gives NaN or inf; `perturb_singular` has no effect.

    >>> diagonals = [[1.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 1.0, 1.0]]
    >>> print(tf.linalg.tridiagonal_solve(diagonals, [3.0, 4.0, 3.0]).numpy())
    [1. 1. 1.]
    """
    bands, x = as_compact(diagonals, diagonals_format), tensor(rhs)
    vectors = x.ndim == bands.ndim - 1
    if conjugate_rhs:
        x = conj(x)
    if vectors:
        x = expand_dims(x, -1)
    elif transpose_rhs:
        x = matrix_transpose(x)
    result = _tridiagonal_solve(bands, x, partial_pivoting=bool(partial_pivoting), perturb_singular=bool(perturb_singular))
    return squeeze(result, -1) if vectors else result


def _band_limits(count, lower):
    return (1 - count, 0) if lower else (0, count - 1)


def _banded_rule(bands, rhs, lower, adjoint):
    check_matrix(bands)
    check_matrix(rhs, 1)
    if bands.shape[-1] != rhs.shape[-2]:
        raise invalid(
            f"In[0] mismatch In[1] shape: {plain(bands.shape)} {plain(rhs.shape)}: rhs must have a row for each column."
        )
    if bands.shape[-2] > bands.shape[-1]:
        raise invalid(f"There are {bands.shape[-2]} bands for a matrix of {bands.shape[-1]} rows: {plain(bands.shape)}.")
    return aval((*broadcast_shapes(bands.shape[:-2], rhs.shape[:-2]), *rhs.shape[-2:]), rhs.dtype)


@op("BandedTriangularSolve", infer=_banded_rule, broadcasting=True, saves="bands y")
def _banded_solve(bands, rhs, *, lower, adjoint):
    count, m = bands.shape[-2:]
    batch = jnp.broadcast_shapes(bands.shape[:-2], rhs.shape[:-2])
    wide_bands = wide(bands)
    dense = jnp.zeros((*bands.shape[:-2], m, m), dtype=wide_bands.dtype)
    for row in range(count):
        offset = row if lower else count - 1 - row
        places = jnp.arange(m - offset, dtype=jnp.int32)
        if lower:
            dense = at(dense)[..., places + offset, places].set(wide_bands[..., row, offset:])
        else:
            dense = at(dense)[..., places, places + offset].set(wide_bands[..., row, : m - offset])
    a, b = [jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (dense, wide(rhs))]
    x = lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint)
    return x.astype(rhs.dtype)


@gradient(_banded_solve)
def _(dy, bands, y, needs_bands, *, lower, adjoint):
    db = _banded_solve(bands, dy, lower, not adjoint)
    if not needs_bands:
        return None, db
    part = diag_part(to_matrix(db, y, adjoint), k=_band_limits(extents_of(bands)[-2], lower), align="LEFT_RIGHT")
    return expand_dims(part, -2) if extents_of(bands)[-2] == 1 else part, db


@public
def banded_triangular_solve(bands, rhs, lower=True, adjoint=False, name=None):
    """Return X of `A X = rhs` for triangular matrices A that are 0 outside of `bands`, [..., bands, m].

    The rows of `bands` are the diagonals, the highest first, padded at the start for a lower triangular A, else at the end.
    `adjoint` solves with Aᴴ. Batches broadcast.

    >>> bands = tf.constant([[2.0, 2.0, 2.0], [0.0, 1.0, 1.0]])
    >>> print(tf.linalg.banded_triangular_solve(bands, tf.ones([3, 1])).numpy()[:, 0])
    [0.5   0.25  0.375]
    """
    return _banded_solve(bands, rhs, bool(lower), bool(adjoint))


# ---------------------------------------------------------------------------------------------------------------------
# Eigenvalues


def _chosen(e, select, select_range):
    """Return the selected part of the ascending eigenvalues `e` as a slice."""
    if select == "a":
        return slice(None)
    if select == "i":
        first, last = static_list(select_range, "select_range")
        if first > last:
            raise ValueError(f"Got empty index range in select_range: {select_range}. Give (first, last).")
        return slice(first, last + 1)
    if select != "v":
        raise ValueError(f"Allowed values for select are 'a', 'i', 'v', received {select!r}.")
    low, high = [float(bound) for bound in select_range]
    if not low < high:
        raise ValueError(f"Got empty interval in select_range: {select_range}. Give (lower, upper).")
    values = to_numpy(e.node)
    rounding = 2 * np.finfo(values.dtype).eps * np.abs(values).max(initial=0)  # host-side: the values decide on a shape
    return slice(int((values < low - rounding).sum()), int((values <= high + rounding).sum()))


@public
def eigh_tridiagonal(alpha, beta, eigvals_only=True, select="a", select_range=None, tol=None, name=None):
    """Return the eigenvalues, smallest first, of the Hermitian matrix with diagonal `alpha`, [n], and superdiagonal `beta`, [n
    - 1].

    `select`: "a" all; "i" those with index in `select_range`, (first, last); "v" those in the interval [lower, upper], with a
    tolerance of rounding at the ends. Eigenvalues are real. With `eigvals_only=False` the result is `(eigenvalues,
    eigenvectors as columns)`. `tol` has no effect.

    >>> print(tf.linalg.eigh_tridiagonal([2.0, 2.0], [1.0]).numpy().round(5))
    [1. 3.]
    """
    alpha, beta = tensor(alpha), tensor(beta)
    if alpha.ndim != 1 or beta.ndim != 1 or extents_of(beta)[0] != extents_of(alpha)[0] - 1:
        raise ValueError(f"alpha must be [n] and beta [n - 1], received shapes {alpha.shape} and {beta.shape}.")
    matrix = diag(alpha) + diag(conj(beta), k=-1)  # only the lower triangle is read
    if eigvals_only:
        e = real(eigvalsh(matrix))
        return e[_chosen(e, select, select_range)]
    e, v = eigh(matrix)
    e = real(e)
    chosen = _chosen(e, select, select_range)
    return e[chosen], v[:, chosen]
