"""Forward mode through `custom_gradient`: the transpose of a linear gradient function; else the function's own derivative, or an
error."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree

X, ALONG = [2.0, 1.0], [1.0, 0.5]
NOT_LINEAR = {
    "clip": lambda dy: tf.clip_by_value(dy, -1.0, 1.0),
    "square": lambda dy: dy**2,
    "normalise": lambda dy: dy / tf.norm(dy),
    "sign": tf.sign,
    "clip the norm": lambda dy: tf.clip_by_norm(dy, 0.5),
    "in a function": tf.function(tf.tanh),
}


def with_gradient(rule, f=tf.identity):
    return tf.custom_gradient(lambda x: (f(x), rule))


def accumulated(f, x, along):
    with tf.autodiff.ForwardAccumulator(x, along) as accumulator:
        y = f(x)
    return accumulator.jvp(y)


def in_a_map(f):
    return lambda x: tf.map_fn(f, x)


def in_a_while(f):
    return tf.function(lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, f(y)), (0, x))[1])


def in_a_branch(f):
    return tf.function(lambda x: tf.cond(x[0] > 0.0, lambda: f(x), lambda: x))


JACOBIANS = {
    "sparse": lambda f, x: tf.autodiff.sparse_jacobian(f, x, format="dense"),
    "by columns": tf.autodiff.jacfwd,
}
WAYS = {
    "accumulator": accumulated,
    "around a function": lambda f, x, along: accumulated(tf.function(f), x, along),
    "in a function": lambda f, x, along: tf.function(accumulated)(f, x, along),
    "jvp": lambda f, x, along: tf.autodiff.jvp(f, (x,), (along,))[1],
    "linearize": lambda f, x, along: tf.autodiff.linearize(f, x)[1](along),
    "sparse": lambda f, x, along: tf.linalg.matvec(JACOBIANS["sparse"](f, x), along),
    "by columns, in a function": lambda f, x, along: tf.linalg.matvec(tf.function(JACOBIANS["by columns"])(f, x), along),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("rule", NOT_LINEAR.values(), ids=NOT_LINEAR)
def test_a_gradient_that_is_not_linear(rule, way):
    """TensorFlow's numbers: 12x² cos x³, the derivative of 4 sin x³."""
    squared = with_gradient(rule, lambda x: x * x)
    agree(way(lambda x: tf.sin(squared(x) * x) * 4.0, tf.constant(X), tf.constant(ALONG)), [-6.9840016, 3.2418137])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_gradient_that_is_linear_is_transposed(way):
    weights = tf.constant([5.0, 3.0])
    five = with_gradient(lambda dy: tf.map_fn(lambda d: d * 1.0, weights * dy))
    agree(way(lambda x: five(x) * 3.0, tf.constant(X), tf.constant(ALONG)), [15.0, 4.5])


@pytest.mark.parametrize(
    "around, power",
    [(in_a_map, 1), (in_a_while, 3), (in_a_branch, 1), (tf.recompute_grad, 1), (tf.autodiff.recompute_grad, 1)],
    ids=["map_fn", "while", "cond", "recompute_grad", "recompute_grad with a policy"],
)
def test_within_bodies_in_both_modes(around, power):
    """The one mode does not change what the other finds."""
    f, x, along = around(lambda x: with_gradient(NOT_LINEAR["clip"])(x) * 3.0), tf.constant(X), tf.constant(ALONG)
    for _ in range(2):
        agree(accumulated(f, x, along), np.multiply(ALONG, 3.0**power))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        agree(tape.gradient(y, x), [1.0, 1.0])


def test_over_a_tape_and_under_one():
    """TensorFlow's numbers."""
    clipped = with_gradient(NOT_LINEAR["clip"], lambda x: x * x)
    x, along = tf.constant(X), tf.constant(ALONG)

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.sin(clipped(x) * x) * 4.0)
        return tape.gradient(y, x)

    agree(accumulated(gradient, x, along), [-192.2848, -2.8876], 1e-4)
    with tf.GradientTape() as tape:
        tape.watch(x)
        d = accumulated(lambda x: tf.sin(clipped(x) * x) * 4.0, x, along)
    agree(tape.gradient(d, x), [-195.6128, -1.7264], 1e-4)


def test_hooks():
    def f(x):
        y = x * 2.0
        y.register_gradient_hook(NOT_LINEAR["clip"])
        return y * 3.0

    agree(accumulated(f, tf.constant(X), tf.constant(ALONG)), [6.0, 3.0])


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_neither_is_linear_nor_has_a_derivative(way):
    rounded = with_gradient(NOT_LINEAR["clip"], tf.round)
    with pytest.raises(NotImplementedError, match=r"where the gradient function is linear in dy.* Use reverse mode"):
        way(lambda x: rounded(x) * 3.0, tf.constant(X), tf.constant(ALONG))
    agree(tf.autodiff.jacrev(lambda x: rounded(x) * 3.0, tf.constant(X)), np.eye(2))


def test_a_gradient_that_looks_at_values_is_taken_to_be_linear():
    def rule(dy):
        assert float(dy[0]) > 0.0
        return dy * 2.0

    agree(accumulated(with_gradient(rule), tf.constant(X), tf.constant(ALONG)), [2.0, 1.0])
