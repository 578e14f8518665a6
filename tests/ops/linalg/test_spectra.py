"""Derivatives through `eigh`, `svd` and `eig` where values are equal or near: closed forms, or NaN and its cause."""

import numpy as np
import pytest

import gradtape as tf

IDENTITY = tf.eye(2, dtype=tf.float64)
SWAP = tf.constant([[0.0, 1.0], [1.0, 0.0]], tf.float64)
TURN = tf.constant([[0.0, 1.0], [-1.0, 0.0]], tf.float64)
APART = tf.constant([[0.0, 0.0], [0.0, 1.0]], tf.float64)


def nth(f, order, x=0.0):
    """The derivative of a function of a number."""

    def derivative(x, order):
        if order == 0:
            return f(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivative(x, order - 1)
        return tape.gradient(y, x)

    return float(derivative(tf.constant(x, tf.float64), order))


def exponential(a):
    e, v = tf.linalg.eigh(a)
    return tf.matmul(v * tf.exp(e), v, transpose_b=True)


def polar(a):
    _, u, v = tf.linalg.svd(a)
    return tf.matmul(u, v, transpose_b=True)


@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-9, 1e-11])
def test_near_eigenvalues(gap):
    """The divided difference of exp; TensorFlow has 2.69 at a gap of 1e-9, and 0.027 at 1e-11."""
    found = nth(lambda t: exponential(IDENTITY + gap * APART + t * SWAP)[0, 1], 1)
    np.testing.assert_allclose(found, np.e * np.expm1(gap) / gap, max(1e-9, 1e-15 / gap))


@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-9, 1e-11])
def test_near_singular_values(gap):
    found = nth(lambda t: polar(IDENTITY + gap * APART + t * TURN)[0, 1], 1)
    np.testing.assert_allclose(found, 2.0 / (2.0 + gap), max(1e-9, 1e-15 / gap))


@pytest.mark.parametrize(
    "f, order",
    [
        (lambda t: exponential(IDENTITY + t * SWAP)[0, 1], 1),
        (lambda t: exponential(IDENTITY + 1e-15 * APART + t * SWAP)[0, 1], 1),
        (lambda t: polar(IDENTITY + t * TURN)[0, 1], 1),
        (lambda t: tf.reduce_sum(tf.linalg.eigvalsh(IDENTITY + t * SWAP) ** 2), 2),
        (lambda t: tf.reduce_sum(tf.linalg.svd(IDENTITY + t * SWAP, compute_uv=False) ** 2), 2),
        (lambda t: tf.reduce_sum(tf.abs(tf.linalg.eig(IDENTITY + t * SWAP)[1][0] + 1.0)), 1),
    ],
    ids=["eigh", "eigh, to rounding", "svd", "eigvalsh", "svd without vectors", "eig"],
)
def test_equal_values_give_nan(f, order):
    """TensorFlow has 0 in each of the first five: e, e, 1, 4 and 4 are right. JAX and PyTorch have NaN, too."""
    assert np.isnan(nth(f, order))


def test_forward_mode_agrees():
    with tf.autodiff.ForwardAccumulator(t := tf.constant(0.0, tf.float64), tf.ones_like(t)) as accumulator:
        y = exponential(IDENTITY + t * SWAP)[0, 1]
    assert np.isnan(accumulator.jvp(y))


PROJECTED = tf.linalg.diag(tf.constant([0.0, 0.0, 0.0, 2.0], tf.float64))
ALONG = tf.constant([[i + j + 1.0 for i in range(4)] for j in range(4)], tf.float64)


@pytest.mark.parametrize(
    "f, order, expected",
    [
        (lambda t: tf.reduce_sum(tf.linalg.eigh(IDENTITY + t * (IDENTITY + SWAP))[0]), 1, 2.0),
        (lambda t: tf.reduce_sum(tf.linalg.eigvalsh(IDENTITY + t * APART) ** 2), 1, 2.0),
        (lambda t: tf.reduce_sum(tf.linalg.svd(IDENTITY + t * APART, compute_uv=False) ** 2), 1, 2.0),
        (lambda t: tf.linalg.eigvalsh(PROJECTED + t * ALONG)[-1], 1, 7.0),
        (lambda t: tf.linalg.eigvalsh(PROJECTED + t * ALONG)[-1], 2, 4.0**2 + 5.0**2 + 6.0**2),
        (lambda t: (lambda v: v[0] * v[3])(tf.linalg.eigh(PROJECTED + t * ALONG)[1][:, -1]), 1, 2.0),
    ],
    ids=["sum", "squares", "squares of singular values", "largest", "largest twice", "its vector"],
)
def test_what_does_not_depend_on_the_vectors_of_equal_values_has_its_derivative(f, order, expected):
    np.testing.assert_allclose(nth(f, order), expected, 1e-12)


@pytest.mark.parametrize(
    "f, matrix, cause",
    [
        (exponential, np.diag([2.0, 3.0, 3.0]), "eigenvalues 2 and 3 are equal in tf.linalg.eigh"),
        (polar, np.eye(3)[:, :2], "singular values 1 and 2 are equal in tf.linalg.svd"),
        (polar, [[0.0], [0.0]], "singular value 1 is 0 in tf.linalg.svd"),
        (lambda a: tf.math.real(tf.linalg.eig(a)[1] + 1.0) ** 2, np.eye(2), "eigenvalues 1 and 2 are equal in Eig"),
    ],
    ids=["eigh", "svd", "svd of rank 0", "eig"],
)
def test_the_cause_is_told(f, matrix, cause):
    a = tf.Variable(matrix, dtype=tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.reduce_sum(f(a))
    told = tf.autodiff.explain_nan(y, a, tape=tape)
    assert told.code == "nan_origin"
    assert cause in str(told)
