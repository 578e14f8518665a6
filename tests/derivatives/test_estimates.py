"""Trace, norm and diagonal of a Hessian from products with random signs: exact where they must be, near where they may be."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import autodiff

X = tf.constant([0.5, -1.0, 2.0], tf.float64)
A = np.array([[2.0, 0.3, -0.1], [0.3, 1.0, 0.2], [-0.1, 0.2, 3.0]])


def quadratic(x):
    return 0.5 * tf.tensordot(x, tf.linalg.matvec(tf.constant(A), x), 1)


def separable(x):
    return tf.reduce_sum(x**3)


def test_exact_where_the_hessian_is_diagonal():
    diagonal = 6.0 * X.numpy()
    assert float(autodiff.hessian_trace(separable, X, samples=1)) == pytest.approx(diagonal.sum())
    assert float(autodiff.hessian_norm(separable, X, samples=1)) == pytest.approx(np.linalg.norm(diagonal))
    np.testing.assert_allclose(autodiff.hessian_diagonal(separable, X, samples=1), diagonal)


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_near_with_many_samples(traced):
    def estimates(x):
        return (
            autodiff.hessian_trace(quadratic, x, samples=500, seed=1),
            autodiff.hessian_norm(quadratic, x, samples=500, seed=2, chunk_size=100),
            autodiff.hessian_diagonal(quadratic, x, samples=500, seed=3),
        )

    trace, norm, diagonal = (tf.function(estimates) if traced else estimates)(X)
    assert float(trace) == pytest.approx(np.trace(A), abs=4 * np.sqrt(2 * (np.sum(A**2) - np.sum(np.diag(A) ** 2)) / 500))
    assert float(norm) == pytest.approx(np.linalg.norm(A), rel=0.05)
    np.testing.assert_allclose(diagonal, np.diag(A), atol=0.1)


def test_seeds():
    first, again, other = [float(autodiff.hessian_trace(quadratic, X, samples=3, seed=s)) for s in (5, 5, 6)]
    assert first == again != other
    tf.random.set_seed(1)
    drawn = [float(autodiff.hessian_trace(quadratic, X, samples=3)) for _ in range(4)]
    assert len(set(drawn)) > 1


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_the_diagonal_exactly(chunk_size):
    found = autodiff.hessian_diagonal(lambda x: quadratic(x) + separable(x), X, chunk_size=chunk_size)
    np.testing.assert_allclose(found, np.diag(A) + 6.0 * X.numpy(), 1e-12)


def test_over_nests_of_variables():
    w, b = tf.Variable([[1.0, 2.0]]), tf.Variable(3.0)

    def f():
        return tf.reduce_sum(w**2) * b

    found = autodiff.hessian_diagonal(f, sources={"w": w, "b": b})
    assert found["w"].numpy().tolist() == [[6.0, 6.0]] and float(found["b"]) == 0.0
    exact = np.sqrt(2 * 36.0 + 2 * (4.0 + 16.0))
    assert float(autodiff.hessian_norm(f, sources=[w, b], samples=100, seed=1)) == pytest.approx(exact, rel=0.1)
    near = autodiff.hessian_norm(f, sources=[w, b], samples=5, seed=1, method="differences", step=0.1)
    same = autodiff.hessian_norm(f, sources=[w, b], samples=5, seed=1, method="differences", step=0.05)
    assert float(near) == pytest.approx(float(same), rel=1e-3)
    assert w.numpy().tolist() == [[1.0, 2.0]] and float(b) == 3.0


def test_differences_put_the_variables_back_after_an_error():
    v = tf.Variable([1.0, 2.0])

    def fails():
        if float(v[0]) < 1.0:
            raise RuntimeError("on purpose")
        return tf.reduce_sum(v**2)

    with pytest.raises(RuntimeError, match="on purpose"):
        autodiff.hessian_norm(fails, sources=[v], method="differences")
    assert v.numpy().tolist() == [1.0, 2.0]


def test_differences_agree_with_products():
    near = autodiff.hessian_norm(lambda x: quadratic(x) + separable(x), X, samples=4, seed=9, method="differences")
    hessian = A + np.diag(6.0 * X.numpy())
    parts = [hessian @ autodiff_signs(9, sample) for sample in range(4)]
    assert float(near) == pytest.approx(np.sqrt(np.mean([p @ p for p in parts])), rel=1e-7)


def autodiff_signs(seed, sample):
    numbers = tf.random.stateless_uniform([3], [seed, sample * 65_537])
    return np.where(numbers.numpy() < 0.5, -1.0, 1.0)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: autodiff.hessian_trace(separable, X, samples=0), ValueError, "samples must be a positive int, received 0"),
        (lambda: autodiff.hessian_norm(separable, X, method="guess"), ValueError, "'products' or 'differences', received"),
        (lambda: autodiff.hessian_norm(tf.sin, X), ValueError, "hessian_norm needs a function that returns one scalar"),
        (
            lambda: autodiff.hessian_norm(lambda: separable(X), sources=[X], method="differences"),
            TypeError,
            "method='differences' moves variables; it cannot move",
        ),
        (
            lambda: autodiff.hessian_trace(lambda z: tf.math.real(tf.reduce_sum(z * z)), tf.constant([1j])),
            ValueError,
            "hessian_trace is of functions of real numbers; one source has dtype complex",
        ),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
