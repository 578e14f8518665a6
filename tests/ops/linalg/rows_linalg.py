"""Rows of linear systems: Cholesky factors, solves, inverses, determinants, least squares."""

import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops.linalg import systems as linalg
from tests.ops.linalg.matrices import (
    INF,
    NAN,
    REGULAR,
    SINGULAR,
    Invalid,
    definite,
    not_a_matrix,
    not_inexact,
    not_square,
    regular,
    turned,
    without_oracle,
)
from tests.ops.table import Row, complexes, real


def solve_row(name, adjoint, arrays=real):
    return Row(
        f"solve-{name}",
        lambda a, b: tf.linalg.solve(a, b, adjoint=adjoint),
        (regular(2, 2, arrays=arrays), arrays(2, 2, 3)),
        lambda a, b: jnp.linalg.solve(turned(a) if adjoint else a, b),
        ops=("MatrixSolve",),
    )


def triangular_row(name, batch_a, batch_b, lower, adjoint, arrays=real):
    def reference(a, b):
        a = jnp.tril(a) if lower else jnp.triu(a)
        a = turned(a) if adjoint else a
        return jnp.linalg.solve(jnp.broadcast_to(a, (*b.shape[:-2], 2, 2)) if b.ndim > a.ndim else a, b)

    return Row(
        f"triangular_solve-{name}",
        lambda a, b: tf.linalg.triangular_solve(a, b, lower=lower, adjoint=adjoint),
        (regular(2, *batch_a, arrays=arrays), arrays(*batch_b, 2, 3, seed=1)),
        reference,
        ops=("MatrixTriangularSolve",),
    )


SYSTEMS = (
    Row(
        "cholesky",
        lambda x: tf.linalg.cholesky(definite(x)),
        (real(2, 3, 3),),
        lambda x: jnp.linalg.cholesky(definite(x)),
        ops=("Cholesky",),
        dtypes=("float64", "float32", "float16"),
        errors=(not_square(tf.linalg.cholesky), not_a_matrix(tf.linalg.cholesky), not_inexact(tf.linalg.cholesky)),
    ),
    Row(
        "cholesky-as-it-is",
        lambda x: tf.linalg.cholesky(tf.cast(x, tf.float32)),
        (np.array([[4, 2], [2, 3]], "int32"),),
        np.linalg.cholesky,
        dtypes=("int32",),
        result=lambda dtype: "float32",
        tolerance=1e-3,
        special=(
            ([[4.0, 2.0], [2.0, 3.0]], [[2.0, 0.0], [1.0, 1.4142135]], [[0.21338835, 0.07322331], [0.07322331, 0.35355335]]),
            ([[4.0, 99.0], [2.0, 3.0]], [[2.0, 0.0], [1.0, 1.4142135]]),
            ([[1.0, 2.0], [2.0, 1.0]], [[NAN, 0.0], [NAN, NAN]], [[NAN, NAN], [NAN, NAN]]),
            (np.zeros((0, 0), "float32"), np.zeros((0, 0)), np.zeros((0, 0))),
        ),
    ),
    Row(
        "cholesky-complex",
        lambda x: tf.linalg.cholesky(definite(x)),
        (complexes(2, 2),),
        lambda x: jnp.linalg.cholesky(definite(x)),
        ops=("Cholesky",),
    ),
    Row(
        "cholesky_solve",
        lambda x, b: tf.linalg.cholesky_solve(tf.linalg.cholesky(definite(x)), b),
        (real(2, 2, seed=1), real(2, 3)),
        lambda x, b: jnp.linalg.solve(definite(x), b),
        errors=(
            (lambda: tf.linalg.cholesky_solve(tf.eye(2), tf.ones([1, 1])), Invalid, r"In\[0\] mismatch In\[1\] shape: 2 vs. 1"),
        ),
    ),
    triangular_row("lower", (), (), True, False),
    triangular_row("upper", (2,), (2,), False, False),
    triangular_row("lower-adjoint-complex", (), (), True, True, complexes),
    triangular_row("upper-adjoint-broadcast", (), (2,), False, True),
    Row(
        "triangular_solve",
        tf.linalg.triangular_solve,
        (regular(2, seed=1), real(2, 1)),
        lambda a, b: jnp.linalg.solve(jnp.tril(a), b),
        ops=("MatrixTriangularSolve",),
        dtypes=("float64", "float32", "float16"),
        special=((([[2.0, 9.0], [1.0, 0.0]], [[1.0], [2.0]]), [[0.5], [INF]]),),
        errors=(
            (lambda: tf.linalg.triangular_solve(tf.ones([2, 3]), tf.ones([2, 1])), Invalid, r"must be square \(3 =/= 2\)"),
            (
                lambda: tf.linalg.triangular_solve(tf.ones([2, 2]), tf.ones([3, 1])),
                Invalid,
                "In.0. mismatch In.1. shape: 2 vs. 3",
            ),
            (
                lambda: tf.linalg.triangular_solve(tf.ones([2, 2, 2]), tf.ones([3, 2, 1])),
                Invalid,
                r"compatible batch dimensions: \[2,2,2\] vs. \[3,2,1\]",
            ),
        ),
    ),
    Row(
        "inv",
        tf.linalg.inv,
        (regular(3, 2),),
        jnp.linalg.inv,
        ops=("MatrixInverse",),
        dtypes=("float64", "float32", "float16"),
        special=(
            (REGULAR, [[0.6, -0.2], [-0.2, 0.4]], [[-0.16, -0.08], [-0.08, -0.04]]),
            ([[1e-20, 0.0], [0.0, 1.0]], [[1e20, 0.0], [0.0, 1.0]]),
            (np.zeros((0, 0), "float32"), np.zeros((0, 0))),
        ),
        errors=(
            (lambda: tf.linalg.inv(SINGULAR), Invalid, r"Input is not invertible. \[Op:MatrixInverse\]\nIts.*pinv"),
            (lambda: tf.linalg.inv([REGULAR, SINGULAR]), Invalid, "Input is not invertible"),
            (lambda: tf.linalg.inv([[NAN, 1.0], [1.0, 1.0]]), Invalid, "Input is not invertible"),
            (lambda: tf.linalg.inv([[NAN, 1.0], [1.0, 2.0]]), Invalid, "Input is not invertible"),
            not_square(tf.linalg.inv),
            not_a_matrix(tf.linalg.inv),
            not_inexact(tf.linalg.inv),
        ),
    ),
    Row(
        "inv-adjoint",
        lambda x: tf.linalg.inv(x, adjoint=True),
        (regular(2, arrays=complexes),),
        lambda x: turned(jnp.linalg.inv(x)),
        ops=("MatrixInverse",),
    ),
    solve_row("batch", False),
    solve_row("adjoint", True),
    solve_row("complex", True, complexes),
    Row(
        "solve",
        tf.linalg.solve,
        (regular(3), real(3, 1)),
        jnp.linalg.solve,
        ops=("MatrixSolve",),
        dtypes=("float64", "float32", "float16"),
        special=(((REGULAR, [[1.0], [2.0]]), [[0.2], [0.6]], ([[-0.08, -0.24], [-0.04, -0.12]], [[0.4], [0.2]])),),
        errors=(
            (lambda: tf.linalg.solve(SINGULAR, tf.ones([2, 1])), Invalid, r"not invertible. \[Op:MatrixSolve\]\nIts.*lstsq"),
            (lambda: tf.linalg.solve(tf.eye(2), tf.ones([1, 1])), Invalid, "Input matrix and rhs are incompatible"),
            (lambda: tf.linalg.solve(tf.ones([2, 2, 2]), tf.ones([2, 1])), Invalid, "All input tensors must have the same rank"),
            (lambda: tf.linalg.solve(tf.eye(2), tf.ones([2])), Invalid, "All input tensors must have the same rank.*expand_dims"),
            (lambda: tf.linalg.solve(tf.ones([2, 3]), tf.ones([2, 1])), Invalid, r"\(lhs\) must be a square matrix"),
            (lambda: tf.linalg.solve([REGULAR], tf.ones([3, 2, 1])), Invalid, "must have the same outer dimensions"),
            (lambda: tf.linalg.solve(tf.eye(2), tf.ones([2, 1], tf.float64)), Invalid, "MatrixSolve as input #1.*is a double"),
        ),
    ),
    Row(
        "det",
        tf.linalg.det,
        (regular(3, 2, seed=1),),
        jnp.linalg.det,
        ops=("MatrixDeterminant",),
        dtypes=("float64", "float32", "float16"),
        special=(
            (REGULAR, 5.0, [[3.0, -1.0], [-1.0, 2.0]]),
            (SINGULAR, 0.0, [[4.0, -2.0], [-2.0, 1.0]]),
            ([[0.0, 1.0], [0.0, 0.0]], 0.0, [[0.0, 0.0], [-1.0, 0.0]]),
            (np.zeros((3, 3), "float32"), 0.0, np.zeros((3, 3))),
            (np.zeros((0, 0), "float32"), 1.0),
            ([[np.nan, 1.0], [1.0, 1.0]], np.nan),
            ([[0.0, np.nan], [0.0, 1.0]], np.nan),
        ),
        errors=(not_square(tf.linalg.det), not_a_matrix(tf.linalg.det), not_inexact(tf.linalg.det)),
    ),
    Row("det-complex", tf.linalg.det, (regular(2, arrays=complexes),), jnp.linalg.det, ops=("MatrixDeterminant",)),
    Row(
        "cofactors",
        linalg.cofactors,
        (regular(3, seed=2),),
        lambda x: jnp.linalg.det(x) * jnp.linalg.inv(x).T,
        ops=("MatrixCofactors",),
        special=(
            (
                np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]]),
                [[-2.0, -2.0, 2.0], [1.0, 1.0, -1.0], [0.0, 0.0, 0.0]],
            ),
        ),
    ),
    Row(
        "cofactors-complex",
        linalg.cofactors,
        (regular(2, arrays=complexes, seed=1),),
        lambda x: jnp.linalg.det(x) * jnp.linalg.inv(x).T,
        ops=("MatrixCofactors",),
    ),
    Row(
        "slogdet",
        tf.linalg.slogdet,
        (regular(3, 2, seed=3),),
        lambda x: tuple(jnp.linalg.slogdet(x)),
        ops=("LogMatrixDeterminant",),
        dtypes=("float64", "float32", "float16"),
        result=lambda dtype: (dtype, dtype),
        special=(
            ([[1.0, 2.0], [2.0, 1.0]], (-1.0, 1.0986123), [[-1 / 3, 2 / 3], [2 / 3, -1 / 3]]),
            (SINGULAR, (0.0, -INF)),
            (np.zeros((0, 0), "float32"), (1.0, 0.0)),
            ([[np.nan, 1.0], [1.0, 1.0]], (np.nan, np.nan)),
            ([[INF, INF], [INF, INF]], (np.nan, np.nan)),
        ),
        errors=(not_square(tf.linalg.slogdet), not_inexact(tf.linalg.slogdet)),
    ),
    Row(
        "slogdet-complex",
        tf.linalg.slogdet,
        (regular(2, arrays=complexes, seed=2),),
        lambda x: (jnp.linalg.slogdet(x)[0], jnp.linalg.slogdet(x)[1].astype(x.dtype)),
        ops=("LogMatrixDeterminant",),
    ),
    Row(
        "logdet",
        lambda x: tf.linalg.logdet(definite(x)),
        (real(2, 2, 2, seed=2),),
        lambda x: jnp.linalg.slogdet(definite(x))[1],
        errors=(not_square(tf.linalg.logdet),),
    ),
    Row(
        "logdet-complex",
        lambda x: tf.linalg.logdet(definite(x)),
        (complexes(2, 2, seed=1),),
        lambda x: jnp.linalg.slogdet(definite(x))[1],
    ),
)


def normal_equations(l2):
    def reference(a, b):
        m, n = a.shape[-2:]
        if m >= n:
            return jnp.linalg.solve(turned(a) @ a + l2 * jnp.eye(n), turned(a) @ b)
        return turned(a) @ jnp.linalg.solve(a @ turned(a) + l2 * jnp.eye(m), b)

    return reference


def lstsq_row(name, m, n, l2=0.0, arrays=real):
    return Row(
        f"lstsq-{name}",
        lambda a, b: tf.linalg.lstsq(a, b, l2_regularizer=l2),
        (arrays(m, n) + 2.0 * np.eye(m, n), arrays(m, 2, seed=1)),
        normal_equations(l2),
        ops=("MatrixSolveLs",),
    )


LEAST_SQUARES = (
    lstsq_row("tall", 4, 2),
    lstsq_row("wide", 2, 3),
    lstsq_row("tall-regularised", 3, 2, 0.3),
    lstsq_row("wide-regularised", 2, 3, 0.3),
    lstsq_row("tall-complex", 3, 2, arrays=complexes),
    lstsq_row("wide-complex", 2, 3, arrays=complexes),
    Row(
        "lstsq",
        lambda a, b: tf.linalg.lstsq(a, b),
        (real(2, 3, 2) + 2.0 * np.eye(3, 2), real(2, 3, 1)),
        lambda a, b: jnp.stack([jnp.linalg.lstsq(x, y)[0] for x, y in zip(a, b, strict=True)]),
        ops=("MatrixSolveLs",),
        oracle=False,
        order=1,
        special=(
            (([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [[6.0], [0.0], [0.0]]), [[5.0], [-3.0]]),
            ((SINGULAR, [[1.0], [2.0]]), [[NAN], [NAN]]),
        ),
        errors=(
            (lambda: tf.linalg.lstsq(tf.ones([2, 2]), tf.ones([3, 1])), Invalid, "must have as many rows"),
            (lambda: tf.linalg.lstsq(tf.ones([1, 2, 2]), tf.ones([3, 2, 1])), Invalid, "Batch dimensions of matrix and rhs"),
        ),
    ),
    Row(
        "lstsq-slow",
        lambda a, b: tf.linalg.lstsq(a, b, fast=False),
        (real(3, 2, seed=3), real(3, 1)),
        normal_equations(0.0),
        ops=("MatrixSolveLs",),
        special=(((SINGULAR, [[1.0], [2.0]]), [[0.2], [0.4]]),),
    ),
)

ROWS = tuple([without_oracle(row) for row in (*SYSTEMS, *LEAST_SQUARES)])
