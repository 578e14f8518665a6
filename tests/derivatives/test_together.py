"""Derivatives of derivatives, over rows, in loops, in graphs: the parts of the toolbox put together, against JAX."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

import gradtape as tf
from gradtape import autodiff

random = np.random.default_rng(0)
ROWS = random.normal(size=(5, 3))
W, U, TIMES = random.normal(size=(1, 8)), random.normal(size=(8, 1)), random.normal(size=(6, 1))


def f(x):
    return tf.reduce_sum(tf.sin(x) * x[0] ** 2)


def jax_f(x):
    return jnp.sum(jnp.sin(x) * x[0] ** 2)


@cache
def hessians():
    return jax.jit(jax.vmap(jax.hessian(jax_f)))(ROWS)


def test_over_rows():
    rows = tf.constant(ROWS)
    np.testing.assert_allclose(tf.vectorized_map(lambda x: autodiff.hessian(f, x), rows), hessians(), 1e-9)
    np.testing.assert_allclose(tf.map_fn(lambda x: autodiff.hessian(f, x), rows), hessians(), 1e-9)
    products = tf.vectorized_map(lambda x: autodiff.hvp(f, x, tf.ones_like(x)), rows)
    np.testing.assert_allclose(products, hessians().sum(-1), 1e-9)


def test_nested():
    x = tf.constant(ROWS[0])
    np.testing.assert_allclose(autodiff.jacfwd(lambda y: autodiff.jacrev(f, y), x), hessians()[0], 1e-9)
    third = jax.jit(jax.jacrev(jax.hessian(jax_f)))(ROWS[0])
    np.testing.assert_allclose(autodiff.jacrev(lambda y: autodiff.hessian(f, y), x), third, 1e-8)


def test_a_loss_with_a_derivative_in_it():
    """As in physics-informed networks: the residual of du/dt = u, per example and for the batch."""
    w, u = tf.Variable(W), tf.Variable(U)

    def residual(t):
        value, slope = autodiff.jvp(lambda t: tf.tanh(t @ w) @ u, t, tf.ones_like(t))
        return tf.reduce_sum((slope - value) ** 2)

    def jax_residual(parameters, t):
        value, slope = jax.jvp(lambda t: jnp.tanh(t @ parameters[0]) @ parameters[1], (t,), (jnp.ones_like(t),))
        return jnp.sum((slope - value) ** 2)

    expected = jax.jit(jax.vmap(jax.grad(jax_residual), (None, 0)))((W, U), TIMES[:, None])
    found = autodiff.per_example_gradients(residual, [w, u], tf.constant(TIMES))
    norms = autodiff.per_example_norms(residual, [w, u], tf.constant(TIMES))

    @tf.function
    def step(t):
        with tf.GradientTape() as tape:
            loss = residual(t)
        return tape.gradient(loss, [w, u])

    for each, whole, theirs in zip(found, step(tf.constant(TIMES)), expected, strict=True):
        np.testing.assert_allclose(each, theirs, 1e-8)
        np.testing.assert_allclose(whole, theirs.sum(0), 1e-8)
    np.testing.assert_allclose(norms, np.sqrt(sum((np.asarray(e).reshape(6, -1) ** 2).sum(1) for e in expected)), 1e-8)


def test_a_sparse_hessian_is_the_sparse_jacobian_of_the_gradient():
    def chain(x):
        return tf.reduce_sum((x[1:] - x[:-1] ** 2) ** 2)

    x = tf.constant(random.normal(size=30))
    matrix = autodiff.sparse_jacobian(lambda x: autodiff.jacrev(chain, x), x)
    assert matrix.nnz == 3 * 30 - 2
    np.testing.assert_allclose(matrix.toarray(), autodiff.hessian(chain, x), 1e-10)
    assert autodiff.jacobian_sparsity(lambda x: autodiff.jacrev(chain, x), x).products == 3


def test_in_a_graph():
    with tf.compat.v1.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2])
        product = autodiff.hvp(lambda x: tf.reduce_sum(x**3), x, tf.ones([2]))
        with tf.compat.v1.Session() as session:
            assert session.run(product, {x: [1.0, 2.0]}).tolist() == [6.0, 12.0]
