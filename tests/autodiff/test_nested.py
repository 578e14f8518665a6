"""Derivatives of derivatives: tapes inside tapes, and gradients asked for inside them."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


def derivatives(function, x, order):
    """`function(x)` and its derivatives up to `order`, from as many tapes inside each other."""
    if order == 0:
        return [function(x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        lower = derivatives(function, x, order - 1)
    return [*lower, tape.gradient(lower[-1], x)]


@pytest.mark.parametrize(
    "function, x, expected",
    [
        (lambda x: x**4, 2.0, [16.0, 32.0, 48.0, 48.0, 24.0]),
        (lambda x: x * x * x * x, 2.0, [16.0, 32.0, 48.0, 48.0, 24.0]),
        (tf.sin, 0.5, [0.4794255, 0.8775826, -0.4794255, -0.8775826, 0.4794255]),
        (tf.cos, 0.5, [0.8775826, -0.4794255, -0.8775826, 0.4794255, 0.8775826]),
        (tf.exp, 0.5, [1.6487213] * 5),
        (lambda x: tf.exp(2.0 * x), 0.0, [1.0, 2.0, 4.0, 8.0, 16.0]),
        (tf.math.log, 2.0, [0.6931472, 0.5, -0.25, 0.25, -0.375]),
        (lambda x: 1.0 / x, 2.0, [0.5, -0.25, 0.25, -0.375, 0.75]),
        (tf.math.reciprocal, 2.0, [0.5, -0.25, 0.25, -0.375, 0.75]),
        (tf.sqrt, 4.0, [2.0, 0.25, -0.03125, 0.01171875, -0.00732421875]),
        (tf.math.rsqrt, 4.0, [0.5, -0.0625, 0.0234375, -0.0146484375, 0.01281738]),
        (tf.square, 3.0, [9.0, 6.0, 2.0]),
        (tf.nn.relu, 3.0, [3.0, 1.0, 0.0]),
        (lambda x: x**2.5, 4.0, [32.0, 20.0, 7.5, 0.9375, -0.1171875]),
        (tf.tanh, 0.5, [0.46211716, 0.78644773, -0.72686198, -0.56520929, 3.95221956]),
        (tf.sigmoid, 0.5, [0.62245933, 0.23500371, -0.05755679, -0.09635676, 0.10475593]),
        (tf.nn.softplus, 0.5, [0.97407698, 0.62245933, 0.23500371, -0.05755679, -0.09635676]),
        (tf.tan, 0.5, [0.54630249, 1.29844641, 1.41868901, 4.92199284, 16.43034384]),
        (lambda x: tf.sin(x) * tf.exp(x), 0.5, [0.7904391, 2.2373281, 2.8937780, 1.3128999, -3.1617563]),
        (lambda x: tf.reduce_sum(x * [1.0, 2.0]) ** 2, 1.0, [9.0, 18.0, 18.0]),
        (lambda x: tf.reduce_prod(tf.stack([x, x, x])), 2.0, [8.0, 12.0, 12.0, 6.0]),
        (lambda x: tf.where(x > 1.0, x**3, x), 2.0, [8.0, 12.0, 12.0, 6.0]),
        (lambda x: x**0, 2.0, [1.0, 0.0, 0.0]),
        (lambda x: x**1, 2.0, [2.0, 1.0, 0.0, 0.0]),
        (lambda x: x**2, 2.0, [4.0, 4.0, 2.0, 0.0, 0.0]),
        (lambda x: x**3, 2.0, [8.0, 12.0, 12.0, 6.0, 0.0]),
    ],
)
def test_higher_orders(function, x, expected):
    agree(derivatives(function, tf.constant(x), len(expected) - 1), expected, rtol=2e-5)


@pytest.mark.parametrize(
    "function, x, order",
    [
        (lambda x: 3.0 * x, 2.0, 2),
        (lambda x: x + 1.0, 2.0, 2),
        (tf.reduce_sum, 2.0, 2),
        (tf.identity, 2.0, 2),
        (lambda x: tf.where(x > 1.0, x, 2.0 * x), 2.0, 2),
        (lambda x: tf.stop_gradient(x) * x, 2.0, 2),
        (tf.square, 2.0, 3),
        (lambda x: x * x, 2.0, 3),
    ],
)
def test_a_derivative_that_is_structurally_absent_is_none(function, x, order):
    *lower, last = derivatives(function, tf.constant(x), order)
    assert all(isinstance(part, tf.Tensor) for part in lower)
    assert last is None


def test_mixed_partial_derivatives():
    x = tf.Variable(2.0)
    y = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            z = x**2 * y**3
        dx, dy = inner.gradient(z, [x, y])
    agree([dx, dy], [108.0, 108.0])
    agree(outer.gradient(dx, [x, y]), [54.0, 108.0])
    agree(outer.gradient(dy, [x, y]), [108.0, 72.0])


def test_the_outer_tape_knows_the_inner_values_too():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        dy_dx = inner.gradient(y, x)
        z = y * dy_dx
    agree(outer.gradient(y, x), 12.0)
    agree(outer.gradient(z, x), 240.0)
    agree(outer.gradient(z, [y, dy_dx]), [12.0, 8.0])
    agree(outer.gradient([y, dy_dx], x), 24.0)


def test_persistent_inside_non_persistent():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape(persistent=True) as inner:
            y = x**3
            z = tf.sin(x)
        total = inner.gradient(y, x) + inner.gradient(z, x) * inner.gradient(y, x)
    agree(total, 12.0 + 12.0 * -0.4161468)
    agree(outer.gradient(total, x), 12.0 + 12.0 * -0.4161468 - 12.0 * 0.9092974)


def test_non_persistent_inside_persistent():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as outer:
        with tf.GradientTape() as inner:
            y = x**4
        first = inner.gradient(y, x)
        with tf.GradientTape() as inner:
            y = x**3
        second = inner.gradient(y, x)
    agree([outer.gradient(first, x), outer.gradient(second, x), outer.gradient([first, second], x)], [48.0, 12.0, 60.0])


def test_one_persistent_tape_for_all_orders():
    x = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x**4
        first = tape.gradient(y, x)
        second = tape.gradient(first, x)
        third = tape.gradient(second, x)
    agree([first, second, third, tape.gradient(third, x)], [32.0, 48.0, 48.0, 24.0])


def test_a_gradient_taken_after_the_outer_tape_is_a_constant_to_it():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer, tf.GradientTape() as inner:
        y = x**3
    dy_dx = inner.gradient(y, x)
    agree(dy_dx, 12.0)
    assert outer.gradient(dy_dx, x) is None


def test_the_inner_tape_need_not_watch_what_the_outer_one_does():
    x = tf.constant(2.0)
    w = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = (w * x) ** 2
        dy_dx = inner.gradient(y, x)
    agree(dy_dx, 36.0)
    agree(outer.gradient(dy_dx, [w, x]), [24.0, None])


def test_gradient_penalty():
    w = tf.Variable([[1.0, -2.0], [0.5, 3.0]])
    x = tf.constant([[1.0, 2.0], [-1.0, 0.5], [0.0, 1.0]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.tanh(x @ w))
        dx = inner.gradient(y, x)
        penalty = tf.reduce_mean((tf.norm(dx, axis=1) - 1.0) ** 2)
    agree(penalty, 0.3254881)
    agree(outer.gradient(penalty, w), [[0.0697998, -0.0019124], [0.0446046, -0.0027339]], rtol=5e-5)


def test_hessian_vector_product():
    x = tf.constant([1.0, 2.0, 3.0])
    direction = tf.constant([1.0, 0.0, -1.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_prod(x) + tf.reduce_sum(x**3)
        dx = inner.gradient(y, x)
    # Hessian: 6 x on the diagonal, the third element off it
    agree(outer.gradient(dx, x, output_gradients=direction), [4.0, 2.0, -16.0])


def test_jvp_as_the_transpose_of_a_transpose():
    x = tf.constant([1.0, 2.0])
    tangent = tf.constant([1.0, 10.0])
    cotangent = tf.constant([0.0, 0.0])
    with tf.GradientTape() as outer:
        outer.watch(cotangent)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.stack([x[0] * x[1], x[0] ** 2])
        pulled_back = inner.gradient(y, x, output_gradients=cotangent)
    agree(pulled_back, [0.0, 0.0])
    agree(outer.gradient(pulled_back, cotangent, output_gradients=tangent), [12.0, 2.0])


def test_a_step_of_training_inside_the_tape():
    w = tf.constant(2.0)
    rate = tf.constant(0.1)
    with tf.GradientTape() as outer:
        outer.watch([w, rate])
        weight = w
        for _ in range(3):
            with tf.GradientTape() as inner:
                inner.watch(weight)
                loss = weight**2
            weight = weight - rate * inner.gradient(loss, weight)
        final = weight**2
    # final = w² (1 − 2·rate)⁶
    agree(final, 4.0 * 0.8**6)
    agree(outer.gradient(final, [w, rate]), [4.0 * 0.8**6, -48.0 * 0.8**5])


def test_orders_of_a_small_network():
    x = tf.constant([[0.5, -1.0]])
    w1 = tf.Variable([[1.0, 0.5], [-0.5, 2.0]])
    w2 = tf.Variable([[1.5], [-1.0]])
    orders = derivatives(lambda x: tf.tanh(x @ w1) @ w2, x, 3)
    agree(
        orders,
        [
            [[2.0837668]],
            [[0.5730555, -0.5426049]],
            [[-0.7476248, -0.8315117]],
            [[-0.9466688, -4.8356703]],
        ],
        rtol=2e-5,
    )


def test_four_tapes_open_at_once():
    x = tf.constant(np.float64(1.5))
    tapes = [tf.GradientTape() for _ in range(4)]
    with tapes[0], tapes[1], tapes[2], tapes[3]:
        for tape in tapes[::2]:
            tape.watch(x)
        y = x**3
    gradients = [tape.gradient(y, x) for tape in tapes]
    agree(gradients, [6.75, None, 6.75, None])
