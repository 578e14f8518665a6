"""Rows of dense linear algebra: solves, inverses, determinants, factorisations, functions of matrices.

What depends on signs or phases that a factorisation is free to choose is tested through functions that do not.
"""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape._src.ops import linalg
from tests.ops.table import Row, complexes, positive, real

INF, NAN = np.inf, np.nan
Invalid = tf.errors.InvalidArgumentError
NOT_ALLOWED = "is not in the list of allowed values"
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
REGULAR = [[2.0, 1.0], [1.0, 3.0]]


def turned(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def regular(n, *batch, arrays=real, seed=0):
    """Matrices that are far from singular."""
    return arrays(*batch, n, n, seed=("regular", seed)) + 3.0 * np.eye(n)


def symmetric(x):
    """The Hermitian part, in tensors or arrays."""
    return (x + (tf.linalg.adjoint(x) if isinstance(x, tf.Tensor) else turned(x))) / 2.0


def definite(x):
    """A Hermitian positive definite matrix, in tensors or arrays."""
    if isinstance(x, tf.Tensor):
        return tf.matmul(x, x, adjoint_b=True) + tf.eye(x.shape[-1], dtype=x.dtype)
    return x @ turned(x) + jnp.eye(x.shape[-1], dtype=x.dtype)


def not_square(function, text="Input matrix must be square"):
    return (lambda: function(tf.ones([2, 3])), Invalid, rf"{text}.*\[2,3\]")


def not_a_matrix(function):
    return (lambda: function(tf.ones([3])), Invalid, "must have rank >= 2, got 1")


def not_inexact(function, name="int32"):
    return (lambda: function(tf.ones([2, 2], name)), Invalid, f"'T' of {name.replace('float16', 'half')} {NOT_ALLOWED}")


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
            (lambda: tf.linalg.inv(SINGULAR), Invalid, "Input is not invertible.*pinv.*MatrixInverse"),
            (lambda: tf.linalg.inv([REGULAR, SINGULAR]), Invalid, "Input is not invertible"),
            (lambda: tf.linalg.inv([[NAN, 1.0], [1.0, 1.0]]), Invalid, "Input is not invertible"),
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
            (lambda: tf.linalg.solve(SINGULAR, tf.ones([2, 1])), Invalid, "Input matrix is not invertible.*lstsq.*MatrixSolve"),
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


# ---------------------------------------------------------------------------------------------------------------------
# Factorisations


def qr_row(name, *shape, arrays=real, **options):
    def reference(x):
        m, n = shape[-2:]
        if m >= n:
            return tuple(jnp.linalg.qr(x))
        q = jnp.linalg.qr(x[..., :m])[0]  # JAX has no derivative for wide matrices
        return q, turned(q) @ x

    return Row(
        f"qr-{name}",
        lambda x: tf.linalg.qr(x, **options),
        (arrays(*shape) + 2.0 * np.eye(*shape[-2:]),),
        reference,
        ops=("Qr",),
        dtypes=("float64",),
        oracle=arrays is real,
    )


def completed(x):
    """r, and the squares of q, for the full QR decomposition of a matrix that has one row more than columns."""
    q, r = jnp.linalg.qr(x)
    last = 1.0 - jnp.sum(q**2, 1, keepdims=True)
    return jnp.pad(r, ((0, 1), (0, 0))), jnp.concatenate([q**2, last], 1)


def by_vectors(x, s, u, v):
    """A function of a singular value decomposition that does not change with the signs, or phases, of u and v."""
    weights = np.arange(1.0, s.shape[-1] + 1)
    if isinstance(x, tf.Tensor):
        weighted = u * tf.cast(tf.constant(weights), u.dtype)
        return tf.matmul(weighted, v, adjoint_b=True) + tf.matmul(weighted, u, adjoint_b=True)[..., : v.shape[-2]] * 0.5
    return (u * weights) @ turned(v) + 0.5 * ((u * weights) @ turned(u))[..., : v.shape[-2]]


def svd_row(name, *shape, arrays=real, full_matrices=False):
    def call(x):
        s, u, v = tf.linalg.svd(x, full_matrices=full_matrices)
        k = min(shape[-2:])
        return s, by_vectors(x, s, u[..., :k], v[..., :k]) if shape[-2] >= shape[-1] else by_vectors(x, s, v[..., :k], u[..., :k])

    def reference(x):
        u, s, vh = jnp.linalg.svd(x, full_matrices=False)
        v = turned(vh)
        return s, by_vectors(x, s, u, v) if shape[-2] >= shape[-1] else by_vectors(x, s, v, u)

    return Row(
        f"svd-{name}",
        call,
        (arrays(*shape, seed=name) + 2.0 * np.eye(*shape[-2:]) * np.arange(1, shape[-1] + 1),),
        reference,
        ops=("Svd",),
        dtypes=("float64",),
        tolerance=1e-5,
    )


def by_eigenvectors(x, e, v):
    weights = np.arange(1.0, e.shape[-1] + 1)
    if isinstance(x, tf.Tensor):
        return tf.matmul(v * tf.cast(tf.constant(weights), v.dtype), v, adjoint_b=True)
    return (v * weights) @ turned(v)


def eigh_row(name, *shape, arrays=real):
    def call(x):
        e, v = tf.linalg.eigh(symmetric(x))
        return e, by_eigenvectors(x, e, v)

    def reference(x):
        e, v = jnp.linalg.eigh(symmetric(x))
        return e.astype(x.dtype), by_eigenvectors(x, e, v)

    return Row(
        f"eigh-{name}",
        call,
        (arrays(*shape, seed=name) + 3.0 * np.diag(np.arange(shape[-1])),),
        reference,
        ops=("SelfAdjointEigV2",),
        dtypes=("float64",),
        tolerance=1e-5,
    )


def sorted_by_size(e, *others):
    """Eigenvalues and what belongs to them, in the order of their absolute values; in tensors or arrays."""
    if isinstance(e, tf.Tensor):
        order = tf.argsort(tf.abs(e))
        return tf.gather(e, order), *[tf.gather(other, order, axis=-1) for other in others]
    order = jnp.argsort(jnp.abs(e))
    return e[order], *[other[:, order] for other in others]


FACTORISATIONS = (
    qr_row("square", 2, 3, 3),
    qr_row("tall", 4, 2),
    qr_row("wide", 2, 3),
    qr_row("wide-full", 2, 4, full_matrices=True),
    qr_row("tall-complex", 3, 2, arrays=complexes),
    qr_row("wide-complex", 2, 3, arrays=complexes),
    Row(
        "qr-full",
        lambda x: (tf.linalg.qr(x, full_matrices=True).r, tf.linalg.qr(x, full_matrices=True).q ** 2),
        (real(3, 2),),
        lambda x: tuple(completed(x)),
        ops=("Qr",),
        errors=(
            not_a_matrix(tf.linalg.qr),
            not_inexact(tf.linalg.qr),
            (lambda: gradient_of(tf.linalg.qr, 4, 2, full_matrices=True), NotImplementedError, r"nrows > ncols \+ 1 and full"),
        ),
    ),
    svd_row("square", 2, 2, 2),
    svd_row("tall", 3, 2),
    svd_row("wide", 2, 4),
    svd_row("tall-full", 3, 2, full_matrices=True),
    svd_row("wide-full", 2, 3, full_matrices=True),
    svd_row("square-complex", 2, 2, arrays=complexes),
    svd_row("tall-complex", 3, 2, arrays=complexes),
    Row(
        "svd-completed",
        lambda x: tf.matmul(*[tf.linalg.svd(x, full_matrices=True)[1][:, 2:]] * 2, adjoint_b=True),
        (real(3, 2, seed=1),),
        lambda x: jnp.eye(3) - x @ jnp.linalg.inv(x.T @ x) @ x.T,
        ops=("Svd",),
        tolerance=1e-5,
    ),
    Row(
        "svd-values",
        lambda x: tf.linalg.svd(x, compute_uv=False),
        (real(2, 3, 2),),
        lambda x: jnp.linalg.svd(x, compute_uv=False),
        ops=("Svd",),
        tolerance=1e-5,
        special=((np.eye(2, dtype="float32"), [1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]]),),
        errors=(
            not_a_matrix(tf.linalg.svd),
            not_inexact(tf.linalg.svd),
            (lambda: gradient_of(tf.linalg.svd, 4, 2, full_matrices=True), NotImplementedError, r"abs\(m - n\) > 1 when full"),
        ),
    ),
    Row("norm-two", lambda x: tf.norm(x, ord=2, axis=[0, 2]), (real(2, 2, 3, seed=1),), lambda x: jnp.linalg.norm(x, 2, (0, 2))),
    eigh_row("real", 2, 3, 3),
    eigh_row("complex", 2, 2, arrays=complexes),
    Row(
        "eigvalsh",
        lambda x: tf.linalg.eigvalsh(symmetric(x)),
        (real(3, 3) + np.diag([0.0, 3.0, 6.0]),),
        lambda x: jnp.linalg.eigvalsh(symmetric(x)),
        ops=("SelfAdjointEigV2",),
        dtypes=("float64", "float32"),
        errors=(not_square(tf.linalg.eigvalsh), not_inexact(tf.linalg.eigh)),
    ),
    Row(
        "eigh-lower",
        lambda x: tf.linalg.eigh(x)[0],
        (np.array([[2.0, 99.0], [1.0, 3.0]]),),
        lambda x: jnp.linalg.eigvalsh(jnp.tril(x) + jnp.tril(x, -1).T),
        special=(([[2.0, 99.0], [1.0, 3.0]], [1.381966, 3.618034], [[1.0, 0.0], [0.0, 1.0]]),),
    ),
    Row(
        "eig",
        lambda x: tuple([tf.abs(part) for part in sorted_by_size(*tf.linalg.eig(x))]),
        (np.array([[1.0, 2.0], [3.0, 4.0]]),),
        lambda x: tuple([jnp.abs(part) for part in sorted_by_size(*np.linalg.eig(x))]),
        ops=("Eig",),
        oracle=False,
        tolerance=1e-5,
        errors=(not_square(tf.linalg.eig), not_inexact(tf.linalg.eig), not_inexact(tf.linalg.eig, "float16")),
    ),
    Row(
        "eigvals",
        lambda x: sorted_by_size(tf.linalg.eigvals(x))[0],
        (np.array([[1j, 2.0], [3.0, 4.0 + 1j]]),),
        lambda x: sorted_by_size(np.linalg.eigvals(x))[0],
        ops=("Eig",),
        oracle=False,
        tolerance=1e-5,
    ),
    Row(
        "eigvals-of-real",
        lambda x: tf.math.imag(tf.linalg.eigvals(x)) ** 2,
        (np.array([[1.0, 2.0], [-2.0, 1.0]]),),
        lambda x: np.array([4.0, 4.0]),
        ops=("Eig",),
        oracle=False,
        tolerance=1e-5,
    ),
    Row(
        "lu",
        lambda x: tf.linalg.lu(x)[0],
        (regular(3, 2, seed=4),),
        lambda x: jax.lax.linalg.lu(x)[0],
        ops=("Lu",),
        order=-1,
        errors=(
            not_square(tf.linalg.lu),
            (lambda: tf.linalg.lu(SINGULAR), Invalid, "Input is not invertible"),
            (lambda: tf.linalg.lu_solve([1.0], [0], [[1.0]]), ValueError, "at least 2 dimensions"),
            (lambda: tf.linalg.lu_solve(tf.ones([2, 3]), [0], [[1.0]]), ValueError, "`lower_upper` must be square"),
            (lambda: tf.linalg.lu_solve(tf.eye(2), [[0, 1]], [[1.0]]), ValueError, r"must equal `rank\(perm\) \+ 1`: 2 and 2"),
            (
                lambda: tf.linalg.lu_solve(tf.eye(2), [0, 1], [[1.0]]),
                ValueError,
                r"must equal `rhs.shape\[-2\]`: \[2,2\] and \[1,1",
            ),
        ),
    ),
    Row(
        "lu-permutation",
        lambda x: tf.linalg.lu(tf.cast(x, tf.float32), output_idx_type=tf.int64).p,
        (np.array([[0, 0, 2], [3, 1, 0], [0, 4, 1]], "int32"),),
        lambda x: np.array([1, 2, 0]),
        dtypes=("int32",),
        result=lambda dtype: "int64",
    ),
    Row(
        "lu_solve",
        lambda factors, b: (
            tf.linalg.lu_solve(factors, [2, 0, 1], b),
            tf.linalg.lu_reconstruct(factors, [2, 0, 1]),
            tf.linalg.lu_matrix_inverse(factors, [2, 0, 1]),
        ),
        (regular(3, seed=5), real(3, 2, seed=1)),
        lambda factors, b: solved_by_lu(factors, b, np.array([2, 0, 1])),
    ),
    Row(
        "lu_solve-batch",
        lambda factors, b: (
            tf.linalg.lu_solve(factors, [[1, 0], [0, 1]], b),
            tf.linalg.lu_reconstruct(factors, [[1, 0], [0, 1]]),
            tf.linalg.lu_matrix_inverse(factors, [[1, 0], [0, 1]]),
        ),
        (regular(2, 2, seed=6), real(2, 2, 1)),
        lambda factors, b: tuple(
            [
                jnp.stack(parts)
                for parts in zip(
                    solved_by_lu(factors[0], b[0], np.array([1, 0])),
                    solved_by_lu(factors[1], b[1], np.array([0, 1])),
                    strict=True,
                )
            ]
        ),
        order=1,
    ),
)


def solved_by_lu(factors, b, p):
    matrix = ((jnp.tril(factors, -1) + jnp.eye(factors.shape[-1])) @ jnp.triu(factors))[np.argsort(p)]
    return jnp.linalg.solve(matrix, b), matrix, jnp.linalg.inv(matrix)


def gradient_of(function, *shape, **options):
    x = tf.ones(shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x, **options)[1]
    return tape.gradient(y, x)


# ---------------------------------------------------------------------------------------------------------------------
# Functions of matrices


FUNCTIONS = (
    Row(
        "expm",
        tf.linalg.expm,
        (real(2, 2, 2, seed=3),),
        jax.scipy.linalg.expm,
        ops=("MatrixExponential",),
        dtypes=("float64", "float32", "float16"),
        special=(
            (REGULAR, [[13.181509, 14.883947], [14.883948, 28.065457]], [[25.769655, 34.35953], [34.35953, 45.24523]]),
            (np.zeros((0, 0), "float32"), np.zeros((0, 0))),
            (np.diag([80.0, 0.0]), np.diag([np.exp(80.0), 1.0])),
        ),
        errors=(not_square(tf.linalg.expm), not_inexact(tf.linalg.expm)),
    ),
    Row("expm-complex", tf.linalg.expm, (complexes(2, 2, seed=2),), jax.scipy.linalg.expm, ops=("MatrixExponential",)),
    Row(
        "sqrtm",
        lambda x: tf.linalg.sqrtm(definite(x)),
        (real(2, 2, 2, seed=4),),
        lambda x: np.stack([(v * np.sqrt(e)) @ v.T for e, v in map(np.linalg.eigh, definite(x))]),
        ops=("MatrixSquareRoot",),
        oracle=False,
        special=(([[1.0, 2.0], [2.0, 1.0]], [[2.2882456, 0.8740320], [0.8740320, 2.2882456]]),),
        errors=(not_square(tf.linalg.sqrtm), not_inexact(tf.linalg.sqrtm)),
    ),
    Row(
        "sqrtm-complex",
        tf.linalg.sqrtm,
        (np.array([[1j, 2.0], [3.0, 4.0 + 1j]]),),
        lambda x: np.array(
            [[0.77101752 + 0.98784244j, 0.585626 - 0.29785064j], [0.87843899 - 0.44677596j, 1.94226952 + 0.3921418j]]
        ),
        ops=("MatrixSquareRoot",),
        oracle=False,
        dtypes=(),
    ),
    Row(
        "sqrtm-not-real",
        lambda x: tf.linalg.sqrtm(tf.cast(x, tf.float32)),
        (np.array([[-1, 0], [0, 1]], "int32"),),
        lambda x: np.full((2, 2), NAN),
        dtypes=("int32",),
        result=lambda dtype: "float32",
    ),
    Row(
        "logm",
        lambda x: tf.linalg.logm(tf.linalg.expm(x)),
        (complexes(2, 3, 3) / 2,),
        lambda x: x,
        ops=("MatrixLogarithm",),
        order=-1,
        errors=(not_inexact(tf.linalg.logm, "float"), not_square(lambda x: tf.linalg.logm(tf.cast(x, tf.complex64)))),
    ),
    Row(
        "logm-values",
        tf.linalg.logm,
        (np.array([[1j, 2.0], [3.0, 4.0 + 1j]]),),
        lambda x: np.array(
            [[0.65387812 + 2.01949811j, 0.38971916 - 0.70827451j], [0.58457874 - 1.06241177j, 1.43331624 + 0.60294884j]]
        ),
        ops=("MatrixLogarithm",),
        order=-1,
        tolerance=1e-2,
        special=((np.array([[1, 1], [0, 1]], "complex64"), [[0.0, 1.0], [0.0, 0.0]]),),
    ),
    Row(
        "pinv-tall",
        tf.linalg.pinv,
        (real(3, 2, seed=2),),
        lambda x: jnp.linalg.inv(x.T @ x) @ x.T,
        ops=("PseudoInverse",),
        special=(
            (SINGULAR, [[0.04, 0.08], [0.08, 0.16]]),
            ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[-1.3333333, -0.3333333, 0.6666667], [1.0833333, 0.3333333, -0.4166667]]),
        ),
        errors=(
            (lambda: tf.linalg.pinv([[1, 2]]), TypeError, r"must have `float`-like `dtype` \(saw int32\)"),
            not_a_matrix(tf.linalg.pinv),
        ),
    ),
    Row(
        "pinv-wide-complex",
        tf.linalg.pinv,
        (complexes(2, 3),),
        lambda x: turned(x) @ jnp.linalg.inv(x @ turned(x)),
        ops=("PseudoInverse",),
    ),
    Row(
        "pinv-low-rank",
        lambda u, v: tf.linalg.pinv(tf.matmul(u, v), rcond=1e-6),
        (real(3, 1), real(1, 2)),
        lambda u, v: (v / jnp.sum(v * v)).T @ (u / jnp.sum(u * u)).T,
        ops=("PseudoInverse",),
        dtypes=("float64",),
        tolerance=1e-5,
    ),
    Row(
        "pinv-cutoff",
        lambda x: tf.linalg.pinv(tf.cast(x, tf.float32), rcond=tf.constant([0.2, 0.01])),
        (np.array([[[1, 0], [0, 10]]] * 2, "int32"),),
        lambda x: np.array([[[0.0, 0.0], [0.0, 0.1]], [[1.0, 0.0], [0.0, 0.1]]], "float32"),
        dtypes=("int32",),
        result=lambda dtype: "float32",
    ),
    Row(
        "matrix_rank",
        lambda x: (tf.linalg.matrix_rank(x), tf.linalg.matrix_rank(x, tol=[0.1, 9.0])),
        (np.array([SINGULAR, REGULAR]),),
        lambda x: (np.array([1, 2], "int32"), np.array([1, 0], "int32")),
        order=0,
        errors=((lambda: tf.linalg.matrix_rank([[1]]), TypeError, r"\(saw int32\)"), not_a_matrix(tf.linalg.matrix_rank)),
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Few diagonals


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
            (lambda: tf.linalg.tridiagonal_solve(tf.ones([3, 3]), tf.ones([2, 1])), Invalid, r"do not fit: for \[..., 3, m\]"),
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

ROWS = (*SYSTEMS, *LEAST_SQUARES, *FACTORISATIONS, *FUNCTIONS, *FEW_DIAGONALS)
