"""Rows of matrices with few diagonals."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.linalg.matrices import (
    Invalid,
    turned,
    without_oracle,
)
from tests.ops.table import Row, complexes, positive, real


def dense(bands):
    """The tridiagonal matrix of compact diagonals."""
    above, main, below = bands[..., 0, :-1], bands[..., 1, :], bands[..., 2, 1:]
    n = main.shape[-1]
    return main[..., None] * jnp.eye(n) + place(above, n, 1) + place(below, n, -1)


def place(x, n, k):
    padded = (
        jnp.concatenate([x, jnp.zeros_like(x[..., :1])], -1) if k > 0 else jnp.concatenate([jnp.zeros_like(x[..., :1]), x], -1)
    )
    return padded[..., None] * jnp.eye(n, k=k)


def compact(*batch, arrays=real, seed=0):
    bands = arrays(*batch, 3, 4, seed=("bands", seed))
    bands[..., 1, :] += 6.0
    return bands


FEW_DIAGONALS = (
    Row(
        "tridiagonal_matmul",
        tf.linalg.tridiagonal_matmul,
        (compact(2), real(2, 4, 3)),
        lambda bands, x: dense(bands) @ x,
        ops=("TridiagonalMatMul",),
        errors=(
            (lambda: tf.linalg.tridiagonal_matmul(tf.ones([3, 3]), tf.ones([2, 1])), Invalid, "Invalid superdiagonal shape"),
            (lambda: tf.linalg.tridiagonal_matmul(tf.ones([2, 3]), tf.ones([3, 1])), ValueError, r"of shape \[..., 3, m\]"),
            (
                lambda: tf.linalg.tridiagonal_matmul(tf.ones([3]), tf.ones([3, 1]), "x"),
                ValueError,
                "Unrecognized diagonals_format: x",
            ),
            (
                lambda: tf.linalg.tridiagonal_matmul(tf.ones([2, 3]), tf.ones([3, 1]), "matrix"),
                ValueError,
                "last two dimensions of diagonals to be same",
            ),
            (
                lambda: tf.linalg.tridiagonal_matmul([tf.ones([3])], tf.ones([3, 1]), "sequence"),
                ValueError,
                "to be a sequence of length 3",
            ),
            (
                lambda: tf.linalg.tridiagonal_matmul([tf.ones([1]), tf.ones([3]), tf.ones([3])], tf.ones([3, 1]), "sequence"),
                ValueError,
                "of 3 or 2 elements beside the main one",
            ),
        ),
    ),
    Row(
        "tridiagonal_matmul-complex",
        tf.linalg.tridiagonal_matmul,
        (compact(arrays=complexes), complexes(4, 1)),
        lambda bands, x: dense(bands) @ x,
        ops=("TridiagonalMatMul",),
    ),
    Row(
        "tridiagonal_matmul-sequence",
        lambda a, b, c, x: tf.linalg.tridiagonal_matmul([a, b, c], x, diagonals_format="sequence"),
        (real(3), real(4), real(4, seed=1), real(4, 2)),
        lambda a, b, c, x: (jnp.diag(a, 1) + jnp.diag(b) + jnp.diag(c[1:], -1)) @ x,
    ),
    Row(
        "tridiagonal_solve",
        tf.linalg.tridiagonal_solve,
        (compact(2, seed=1), real(2, 4, 2)),
        lambda bands, b: jnp.linalg.solve(dense(bands), b),
        ops=("TridiagonalSolve",),
        errors=(
            (lambda: tf.linalg.tridiagonal_solve(tf.ones([3, 3]), tf.ones([2, 1])), ValueError, r"do not fit: for \[..., 3, m\]"),
        ),
    ),
    Row(
        "tridiagonal_solve-complex",
        lambda bands, b: tf.linalg.tridiagonal_solve(bands, b, conjugate_rhs=True),
        (compact(arrays=complexes, seed=1), complexes(4)),
        lambda bands, b: jnp.linalg.solve(dense(bands), jnp.conj(b)),
        ops=("TridiagonalSolve",),
    ),
    Row(
        "tridiagonal_solve-pivots",
        lambda x, b: tf.linalg.tridiagonal_solve(x, b, diagonals_format="matrix", transpose_rhs=True),
        (np.array([[0.0, 2.0, 0, 0], [1.0, 0.0, 1.0, 0], [0, 3.0, 0.0, 1.0], [0, 0, 2.0, 0.0]]), real(2, 4)),
        lambda x, b: jnp.linalg.solve(jnp.triu(jnp.tril(x, 1), -1), b.T),
    ),
    Row(
        "banded_triangular_solve",
        tf.linalg.banded_triangular_solve,
        (positive(2, 2, 4) + 0.5, real(4, 3, seed=1)),
        lambda bands, b: jnp.linalg.solve(bands[:, 0][..., None] * jnp.eye(4) + place(bands[:, 1, 1:], 4, -1), jnp.stack([b, b])),
        ops=("BandedTriangularSolve",),
        dtypes=("float64",),
        special=((([[2.0, 3.0, 4.0], [0.0, 1.0, 1.0]], [[1.0], [2.0], [3.0]]), [[0.5], [0.5], [0.625]]),),
        errors=(
            (lambda: tf.linalg.banded_triangular_solve(tf.ones([2, 3]), tf.ones([2, 1])), Invalid, r"mismatch In\[1\] shape"),
            (
                lambda: tf.linalg.banded_triangular_solve(tf.ones([3, 2]), tf.ones([2, 1])),
                Invalid,
                "There are 3 bands for a .* 2 rows",
            ),
        ),
    ),
    Row(
        "banded_triangular_solve-upper-adjoint",
        lambda bands, b: tf.linalg.banded_triangular_solve(bands, b, lower=False, adjoint=True),
        (complexes(2, 3) + 3.0, complexes(3, 2)),
        lambda bands, b: jnp.linalg.solve(turned(jnp.diag(bands[1]) + jnp.diag(bands[0, :-1], 1)), b),
        ops=("BandedTriangularSolve",),
    ),
    Row(
        "banded_triangular_solve-diagonal",
        tf.linalg.banded_triangular_solve,
        (positive(1, 3), real(3, 1, seed=2)),
        lambda bands, b: b / bands[0][:, None],
        ops=("BandedTriangularSolve",),
    ),
    Row(
        "eigh_tridiagonal",
        tf.linalg.eigh_tridiagonal,
        (np.array([1.0, 2.0, 3.5]), np.array([1.0, 0.5])),
        lambda a, b: jnp.linalg.eigvalsh(jnp.diag(a) + jnp.diag(b, 1) + jnp.diag(b, -1)),
        errors=(
            (lambda: tf.linalg.eigh_tridiagonal([1.0], [1.0]), ValueError, r"alpha must be \[n\] and beta \[n - 1\]"),
            (lambda: tf.linalg.eigh_tridiagonal([1.0, 2.0], [1.0], select="x"), ValueError, "are 'a', 'i', 'v', received 'x'"),
            (
                lambda: tf.linalg.eigh_tridiagonal([1.0, 2.0], [1.0], select="i", select_range=[1, 0]),
                ValueError,
                "empty index range",
            ),
            (
                lambda: tf.linalg.eigh_tridiagonal([1.0, 2.0], [1.0], select="v", select_range=[1.0, 1.0]),
                ValueError,
                "empty interval",
            ),
        ),
    ),
    Row(
        "eigh_tridiagonal-selected",
        lambda a, b: (
            tf.linalg.eigh_tridiagonal(a, b, select="i", select_range=[1, 2]),
            tf.linalg.eigh_tridiagonal(a, b, select="v", select_range=[0.0, 2.5]),
            tf.abs(tf.linalg.eigh_tridiagonal(a, b, eigvals_only=False, select="i", select_range=[0, 0])[1]),
        ),
        (np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0])),
        lambda a, b: (
            jnp.linalg.eigvalsh(jnp.diag(a) + jnp.diag(b, 1) + jnp.diag(b, -1))[1:],
            jnp.linalg.eigvalsh(jnp.diag(a) + jnp.diag(b, 1) + jnp.diag(b, -1))[:2],
            jnp.abs(jnp.linalg.eigh(jnp.diag(a) + jnp.diag(b, 1) + jnp.diag(b, -1))[1][:, :1]),
        ),
        order=1,
        tolerance=1e-5,
    ),
)

ROWS = tuple([without_oracle(row) for row in FEW_DIAGONALS])
