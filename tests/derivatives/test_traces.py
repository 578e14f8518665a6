"""Trace and spectral density of matrices that are known by their products: closed forms, exact ranks, real Hessians."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import autodiff

random = np.random.default_rng(0)


def symmetric(values):
    q, _ = np.linalg.qr(random.normal(size=(len(values), len(values))))
    return q @ np.diag(values) @ q.T


def product(a, dtype=tf.float64):
    a = tf.constant(a, dtype)
    return lambda v: tf.linalg.matvec(a, v), tf.zeros([a.shape[0]], dtype)


@pytest.mark.parametrize("dtype, within", [(tf.float32, 1e-4), (tf.float64, 1e-12)], ids=["float32", "float64"])
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_the_trace_of_a_low_rank_is_exact(dtype, within, traced):
    values = np.zeros(60)
    values[:5] = [7.0, -3.0, 2.0, 1.0, 0.5]
    matvec, like = product(symmetric(values), dtype)

    def trace():
        return autodiff.operator_trace(matvec, like, samples=18)

    found = (tf.function(trace) if traced else trace)()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, 7.5, within)


def test_hutch_beats_hutchinson():
    values = 1.0 / np.arange(1, 101) ** 2
    matvec, like = product(symmetric(values))
    plain, better = [], []
    for seed in range(10):
        better.append(float(autodiff.operator_trace(matvec, like, samples=30, seed=seed)) - values.sum())
        signs = np.sign(np.random.default_rng(seed).normal(size=(30, 100)))
        plain.append(np.mean([v @ matvec(tf.constant(v)).numpy() for v in signs]) - values.sum())
    assert np.std(better) < 0.2 * np.std(plain)
    assert abs(np.mean(better)) < 0.02


def test_a_zero_matrix_and_more_samples_than_unknowns():
    assert float(autodiff.operator_trace(lambda v: 0.0 * v, tf.zeros([5]))) == 0.0
    matvec, like = product(symmetric([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(autodiff.operator_trace(matvec, like, samples=30), 6.0, 1e-12)


@pytest.mark.parametrize("dtype, within", [(tf.float32, 1e-4), (tf.float64, 1e-10)], ids=["float32", "float64"])
@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_a_diagonal_matrix_is_exact(dtype, within, traced):
    """Squares of signs are 1, so a start sees each eigenvalue of a diagonal matrix with the same weight."""
    values = np.repeat([1.0, 2.0, 5.0, 9.0], 6)
    a = tf.constant(values, dtype)

    def traces():
        spectrum = autodiff.spectral_density(lambda v: a * v, tf.zeros([24], dtype), steps=10, samples=2)
        return [spectrum.trace(f) for f in (lambda x: x, tf.math.log, tf.exp, lambda x: 1.0 / x)]

    found = (tf.function(traces) if traced else traces)()
    expected = [f(values).sum() for f in (lambda x: x, np.log, np.exp, lambda x: 1.0 / x)]
    np.testing.assert_allclose(found, expected, within)


def test_the_outermost_eigenvalues_and_the_density():
    values = np.concatenate([random.uniform(0.0, 1.0, 200), [-4.0, 10.0]])
    matvec, like = product(symmetric(values))
    spectrum = autodiff.spectral_density(matvec, like, steps=40, samples=4, seed=1)
    assert spectrum.size == 202
    np.testing.assert_allclose(tf.reduce_max(spectrum.values), 10.0, 1e-9)
    np.testing.assert_allclose(tf.reduce_min(spectrum.values), -4.0, 1e-9)
    np.testing.assert_allclose(tf.reduce_sum(spectrum.weights), 1.0, 1e-12)
    points = np.linspace(-6.0, 12.0, 1801)
    density = spectrum.density(points, 0.2)
    exact = np.mean(np.exp(-0.5 * ((points[:, None] - values) / 0.2) ** 2), 1) / (0.2 * np.sqrt(2.0 * np.pi))
    np.testing.assert_allclose(np.sum(density) * 0.01, 1.0, 1e-6)
    assert np.abs(density - exact).sum() * 0.01 < 0.1


def test_the_hessian_of_a_function_of_a_nest():
    w, b = tf.constant(random.normal(size=(3, 2))), tf.constant(random.normal(size=2))
    x = tf.constant(random.normal(size=(20, 3)))

    def loss(w, b):
        return tf.reduce_sum(tf.nn.softplus(tf.tanh(x @ w + b)))

    def matvec(v):
        return autodiff.hvp(loss, (w, b), v)

    blocks = autodiff.hessian(loss, (w, b))
    whole = np.block([[np.reshape(blocks[0][0], (6, 6)), np.reshape(blocks[0][1], (6, 2))],
                      [np.reshape(blocks[1][0], (2, 6)), np.reshape(blocks[1][1], (2, 2))]])  # fmt: skip
    np.testing.assert_allclose(autodiff.operator_trace(matvec, (w, b), samples=24), np.trace(whole), 1e-9)
    found = np.sort(autodiff.spectral_density(matvec, (w, b), steps=8, samples=1).values)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(whole), 1e-7, 1e-9)


def test_one_unknown_and_a_multiple_of_the_identity():
    np.testing.assert_allclose(autodiff.spectral_density(lambda v: 3.0 * v, tf.zeros([1])).values, 3.0)
    spectrum = autodiff.spectral_density(lambda v: 3.0 * v, tf.zeros([50], tf.float64), steps=5)
    np.testing.assert_allclose(spectrum.trace(lambda x: x**-1.0), 50.0 / 3.0, 1e-12)


V = tf.zeros([4])


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: autodiff.operator_trace(lambda v: v, V, samples=2), ValueError, "samples must be an int of at least 3"),
        (lambda: autodiff.spectral_density(lambda v: v, V, steps=0), ValueError, "steps must be a positive int, received 0"),
        (lambda: autodiff.spectral_density(lambda v: v, V, samples=1.5), ValueError, "samples must be a positive int"),
        (lambda: autodiff.operator_trace(lambda v: v[1:], V), ValueError, "its result"),
        (lambda: autodiff.operator_trace(V, V), TypeError, "operator_trace takes a function"),
        (lambda: autodiff.operator_trace(lambda v: v, tf.zeros([2], tf.complex64)), ValueError, "all float32 or all float64"),
        (lambda: autodiff.spectral_density(lambda v: v, V).density([0.0], 0.0), ValueError, "width must be a number above 0"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
