"""Gradient hooks, reversal, straight-through: the value is the same, the gradient another."""

import numpy as np
import pytest

import gradtape as tf
from gradtape import autodiff


def test_look_replace_and_remove():
    seen = []
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        look = y.register_gradient_hook(lambda dy: seen.append(float(dy)))
        double = y.register_gradient_hook(lambda dy: dy * 2.0)
        z = y * 5.0
    assert float(y) == 9.0 and float(z) == 45.0
    assert float(tape.gradient(z, x)) == 60.0 and seen == [10.0]
    assert float(tape.gradient(z, y)) == 10.0, "the gradient of the tensor itself is what its hooks leave of it"
    double.remove()
    assert float(tape.gradient(z, x)) == 30.0
    look.remove()
    seen.clear()
    assert float(tape.gradient(z, x)) == 30.0 and seen == []


def test_a_hook_runs_on_the_sum_of_what_flows_in():
    seen = []
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * 1.0
        y.register_gradient_hook(lambda dy: seen.append(dy.numpy().tolist()))
        z = tf.reduce_sum(y * 3.0) + tf.reduce_sum(y * y)
    tape.gradient(z, x)
    assert seen == [[5.0, 7.0]]


@pytest.mark.parametrize("first", ["watch", "hook"])
def test_a_watched_tensor(first):
    x = tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape:
        if first == "watch":
            tape.watch(x)
        x.register_gradient_hook(lambda dy: tf.clip_by_value(dy, -1.0, 1.0))
        if first == "hook":
            tape.watch(x)
        y = tf.reduce_sum(x * x)
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 1.0]
    assert x.numpy().tolist() == [3.0, 4.0] and (x + 1.0).numpy().tolist() == [4.0, 5.0]


def test_hooked_before_the_tape():
    x = tf.constant(3.0)
    x.register_gradient_hook(lambda dy: dy * 10.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert float(tape.gradient(y, x)) == 60.0


def test_in_functions_and_loops():
    @tf.function
    def f(x):
        for _ in tf.range(2):
            x = x * 3.0
            x.register_gradient_hook(lambda dy: dy * 0.5)
        return x

    x = tf.Variable(2.0)
    for g in (f, f.python_function, tf.function(f.python_function)):
        with tf.GradientTape() as tape:
            y = g(x)
        assert float(y) == 18.0 and float(tape.gradient(y, x)) == pytest.approx(9.0 / 4.0)


def test_second_order_goes_through_the_hook():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x
            y.register_gradient_hook(lambda dy: dy * 3.0)
            z = y * y
        slope = inner.gradient(z, x)
    assert float(slope) == 96.0  # 3 · 2y · 2x with y = x²
    assert float(outer.gradient(slope, x)) == 336.0  # 3 · 2y · 2, and through y, where the hook stands, 3 · 12x · 2x


def test_a_jacobian_by_rows():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
        y.register_gradient_hook(lambda dy: dy * 2.0)
        z = y * 1.0
    np.testing.assert_allclose(tape.jacobian(z, x), np.diag([4.0, 8.0]))


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_reversal_and_straight_through(traced):
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            reversed_ = autodiff.reverse_gradient(x * x, 0.5)
            rounded = autodiff.straight_through(tf.round(x * 2.0), x * 2.0)
            both = tf.reduce_sum(reversed_ * rounded)
        return reversed_, rounded, tape.gradient(reversed_, x), tape.gradient(rounded, x), tape.gradient(both, x)

    x = tf.constant([0.8, 1.6])
    found = (tf.function(f) if traced else f)(x)
    expected = [[0.64, 2.56], [2.0, 3.0], [-0.8, -1.6], [2.0, 2.0], [-0.8 * 2 + 0.64 * 2, -1.6 * 3 + 2.56 * 2]]
    for mine, number in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, number, 1e-5)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: x.register_gradient_hook(3), TypeError, "A gradient hook is a function of the gradient, received 3"),
        (lambda x: tf.constant(1).register_gradient_hook(print), ValueError, "dtype int32 has no gradient, and so no hook"),
        (lambda x: autodiff.straight_through(x, x[:1]), ValueError, r"value is float32 of shape \(2,\), and x is .*\(1,\)"),
        (lambda x: autodiff.straight_through(x, tf.cast(x, tf.float64)), ValueError, "they must agree"),
    ],
)
def test_bad_calls(call, error, message):
    with pytest.raises(error, match=message):
        call(tf.constant([1.0, 2.0]))


def test_a_hook_that_returns_another_shape():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
        y.register_gradient_hook(tf.reduce_sum)
        z = y * 1.0
    with pytest.raises(
        ValueError, match=r"A gradient hook returned float32 of shape \(\) in the place .* float32 of shape \(2,\)"
    ):
        tape.gradient(z, x)
