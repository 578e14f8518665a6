"""Sparse Hessians: the numbers of the dense ones, from the products that its colours take."""

import numpy as np
import pytest

import gradtape as tf

own = tf.autodiff
RNG = np.random.default_rng(0)
X = tf.constant(RNG.normal(size=12))
EDGES = RNG.integers(0, 12, (20, 2))


def grid(x):
    g = tf.reshape(x, [3, 4])
    return tf.reduce_sum((g[1:] - g[:-1]) ** 4) + tf.reduce_sum((g[:, 1:] - g[:, :-1]) ** 4)


@tf.function
def repeated(x):
    for _ in tf.range(2):
        x = x * tf.concat([x[:1], x[:-1]], 0)
    return tf.reduce_sum(x)


# function, entries, products
CASES = {
    "arrow": (lambda x: tf.reduce_sum(x[0] * x**3), 34, 2),
    "tridiagonal": (lambda x: tf.reduce_sum(x[1:] * x[:-1] ** 2), 33, 3),
    "graph": (lambda x: tf.reduce_sum((tf.gather(x, EDGES[:, 0]) - tf.gather(x, EDGES[:, 1])) ** 4), 46, 5),
    "grid": (grid, 46, 5),
    "loop": (repeated, 53, 5),
    "dense": (lambda x: tf.reduce_sum(x) ** 3, 144, 12),
    "diagonal": (lambda x: tf.reduce_sum(tf.exp(x)), 12, 1),
    "linear": (tf.reduce_sum, 0, 0),
    "matrices": (lambda x: tf.reduce_sum(tf.linalg.det(tf.reshape(x, [3, 2, 2]))), 48, 4),
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_dense_hessian(name):
    f, entries, products = CASES[name]
    pattern = own.hessian_sparsity(f, X)
    assert (len(pattern.rows), pattern.products) == (entries, products)
    dense = own.hessian(f, X)
    np.testing.assert_allclose(own.sparse_hessian(f, X).toarray(), dense, 1e-9, 1e-12)
    np.testing.assert_allclose(own.sparse_hessian(f, X, pattern, "dense"), dense, 1e-9, 1e-12)


def test_variables_and_functions():
    v, w = tf.Variable(RNG.normal(size=3)), tf.Variable(RNG.normal(size=2))

    def f():
        return tf.reduce_sum(v[:2] * w**2) + tf.reduce_sum(v**3)

    found = own.sparse_hessian(f, (), sources=[v, w]).toarray()
    expected = np.diag([*6.0 * v.numpy(), *2.0 * v.numpy()[:2]])
    expected[[0, 1, 3, 4], [3, 4, 0, 1]] = 2.0 * np.tile(w.numpy(), 2)
    np.testing.assert_allclose(found, expected)
    pattern = own.hessian_sparsity(grid, X)
    inside = tf.function(lambda x: own.sparse_hessian(grid, x, pattern, "dense"))
    np.testing.assert_allclose(inside(X), own.hessian(grid, X), 1e-9, 1e-12)
    assert own.sparse_hessian(lambda x: tf.reduce_sum(x["a"] ** 2 * x["b"]), {"a": X[:3], "b": X[:3]}).nnz == 9


@tf.custom_gradient
def unsymmetric(x):
    return tf.reduce_sum(x), lambda dy: dy * tf.concat([x[1:], x[:1]], 0) ** 2


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: own.sparse_hessian(3, X), TypeError, "must be a function, received 3"),
        (lambda: own.sparse_hessian(tf.exp, X), ValueError, "needs a function that returns one scalar"),
        (lambda: own.sparse_hessian(grid, X, format="csc"), ValueError, "format must be one of"),
        (lambda: own.sparse_hessian(grid, X, X), TypeError, "pattern must come from"),
        (
            lambda: own.sparse_hessian(grid, X, own.hessian_sparsity(CASES["diagonal"][0], X)),
            tf.errors.InvalidArgumentError,
            "pattern misses entries of this Hessian",
        ),
        (lambda: own.sparse_hessian(unsymmetric, X), tf.errors.InvalidArgumentError, "custom gradients make it unsymmetric"),
        (lambda: own.jacobian_sparsity(tf.exp, X, "symmetric"), ValueError, "hessian_sparsity"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_stated_pattern_is_checked_in_a_function():
    inside = tf.function(lambda x, pattern: own.sparse_hessian(grid, x, pattern, "dense"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="pattern misses entries of this Hessian"):
        inside(X, own.hessian_sparsity(CASES["diagonal"][0], X))
