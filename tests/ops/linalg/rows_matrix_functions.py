"""Rows of functions of matrices: exponential, roots, logarithms, pseudoinverses, ranks."""

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from tests.ops.linalg.matrices import (
    NAN,
    REGULAR,
    SINGULAR,
    definite,
    not_inexact,
    not_square,
    turned,
    without_oracle,
)
from tests.ops.table import Row, complexes, real

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
        oracle=False,
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
            (lambda: tf.linalg.pinv([1.0]), ValueError, r"at least 2 dimensions \(saw: 1\)"),
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
        lambda x: (tf.linalg.matrix_rank(x), tf.linalg.matrix_rank(x, tol=[[0.1], [9.0]])),
        (np.array([SINGULAR, REGULAR]),),
        lambda x: (np.array([1, 2], "int32"), np.array([1, 0], "int32")),
        order=0,
        errors=(
            (lambda: tf.linalg.matrix_rank([[1]]), TypeError, r"\(saw int32\)"),
            (lambda: tf.linalg.matrix_rank([1.0]), ValueError, r"at least 2 dimensions \(saw: 1\)"),
        ),
    ),
)

ROWS = tuple([without_oracle(row) for row in FUNCTIONS])
