"""Derivatives of a determinant of any order are exact at singular matrices of any rank, and at those singular to rounding."""

import math

import numpy as np
import pytest

import gradtape as tf

RNG = np.random.default_rng(0)


def nth(f, modes):
    """The derivative at 0 of a function of a number by nested tapes (r) and accumulators (f)."""

    def derivative(x, modes):
        if not modes:
            return f(x)
        if modes[0] == "r":
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = derivative(x, modes[1:])
            return tape.gradient(y, x)
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = derivative(x, modes[1:])
        return accumulator.jvp(y)

    return derivative(tf.constant(0.0, tf.float64), modes).numpy()


def coefficients(a, along):
    """Those of the polynomial det(a + t·along), times the factorials of their powers."""
    n = len(a)
    x = np.cos(np.pi * (np.arange(n + 1) + 0.5) / (n + 1))
    found = np.polynomial.polynomial.polyfit(x, [np.linalg.det(a + t * along) for t in x], n)
    return found * [math.factorial(k) for k in range(n + 1)]


@pytest.mark.parametrize("n, rank", [(1, 0), (2, 1), (3, 3), (3, 2), (3, 1), (3, 0), (4, 3), (4, 2)])
def test_at_any_rank(n, rank):
    a = RNG.standard_normal((n, rank)) @ RNG.standard_normal((rank, n))
    along = RNG.standard_normal((n, n))
    expected = coefficients(a, along)
    for modes in ["r", "f", "rr", "fr", "rf", "rrr"]:
        if len(modes) <= n:
            found = nth(lambda t: tf.linalg.det(a + t * along), modes)
            np.testing.assert_allclose(found, expected[len(modes)], 1e-9, 1e-12, err_msg=modes)


def test_batches_and_complex_matrices():
    a = np.stack([RNG.standard_normal((3, r)) @ RNG.standard_normal((r, 3)) * (1.0 + 0.5j) for r in (1, 2, 3)])
    along = RNG.standard_normal((3, 3, 3)) + 1j
    for modes in ("r", "rr"):
        found = nth(lambda t: tf.reduce_sum(tf.math.real(tf.linalg.det(a + tf.cast(t, tf.complex128) * along))), modes)
        expected = sum(coefficients(x, y)[len(modes)] for x, y in zip(a, along, strict=True))
        np.testing.assert_allclose(found, expected.real, 1e-9)


def test_in_a_function_and_in_float32():
    """−t² (2 + t)."""
    a = tf.linalg.diag([0.0, 0.0, 2.0])
    along = tf.constant([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    f = tf.function(lambda t: tf.linalg.det(a + t * along))
    np.testing.assert_allclose(tf.autodiff.hessian(f, tf.constant(0.0)), -4.0, 1e-5)
