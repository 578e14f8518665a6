"""A custom gradient whose gradient function uses the function itself, in a `tf.function`."""

import pytest

import gradtape as tf


def power(n, x):
    @tf.custom_gradient
    def of(x):
        return x**n, lambda dy: dy * n * power(n - 1, x)

    return of(x)


@pytest.mark.parametrize("run", [lambda f: f, tf.function])
def test_first_and_second_derivative(run):
    @run
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = power(5.0, x)
        return tape.gradient(y, x)

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = slope(x)
    assert (float(y), float(tape.gradient(y, x))) == (80.0, 160.0)
