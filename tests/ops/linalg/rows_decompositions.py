"""Rows of QR, singular values, eigenvalues and LU.

What depends on signs or phases that a factorisation is free to choose is tested through functions that do not.
"""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.linalg.matrices import (
    NAN,
    SINGULAR,
    Invalid,
    not_a_matrix,
    not_inexact,
    not_square,
    regular,
    symmetric,
    turned,
    without_oracle,
)
from tests.ops.table import Row, complexes, real


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
        special=(
            ([[2.0, 99.0], [1.0, 3.0]], [1.381966, 3.618034], [[1.0, 0.0], [0.0, 1.0]]),
            ([[NAN, 0.0], [1.0, 2.0]], [NAN, NAN]),  # TensorFlow: InvalidArgumentError
        ),
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
        "lu-complex, solved",
        lambda x, b: tf.linalg.lu_solve(*tf.linalg.lu(x), b),
        (regular(3, arrays=complexes, seed=7), complexes(3, 1, seed=2)),
        lambda x, b: jnp.linalg.solve(x, b),
        ops=("Lu",),
        dtypes=("complex128",),
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


ROWS = tuple([without_oracle(row) for row in FACTORISATIONS])
