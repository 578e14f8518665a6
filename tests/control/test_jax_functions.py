"""Functions of JAX arrays on the tape, and kernels written by hand with a reference in plain JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gradtape as tf


def test_jax_functions():
    f = tf.jax_function(lambda x, y: jnp.sin(x) * y)
    x, y = tf.constant([0.5, 1.0], tf.float64), tf.constant([2.0, 3.0], tf.float64)
    for call in (f, tf.function(f)):
        with tf.GradientTape() as outer:
            outer.watch([x, y])
            with tf.GradientTape() as tape:
                tape.watch([x, y])
                z = call(x, y)
            dx, dy = tape.gradient(z, [x, y])
        np.testing.assert_allclose(dx, np.cos(x) * y, 1e-12)
        np.testing.assert_allclose(dy, np.sin(x), 1e-12)
        np.testing.assert_allclose(outer.gradient(dx, x), -np.sin(x) * y, 1e-12)


@jax.custom_vjp
def by_hand(x, y):
    """x · y, whose gradients are ten times too large, so that one sees whose they are."""
    return x * y


by_hand.defvjp(lambda x, y: (x * y, (x, y)), lambda kept, up: (10 * up * kept[1], 10 * up * kept[0]))


def plain(x, y):
    return x * y


X, Y = tf.constant([2.0, 3.0]), tf.constant([5.0, 7.0])


def gradients(call, x=X, y=Y):
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = call(x, y)
    return [z, *tape.gradient(z, [x, y])]


@pytest.mark.parametrize("platform", [None, "cpu"])
@pytest.mark.parametrize("traced", [False, True])
def test_a_kernel_with_a_reference_runs_with_its_own_gradient(platform, traced):
    call = tf.jax_function(by_hand, plain, platform)
    found = gradients(tf.function(call) if traced else call)
    np.testing.assert_array_equal(found, [[10.0, 21.0], [50.0, 70.0], [20.0, 30.0]])


def test_a_kernel_for_another_platform_runs_as_its_reference():
    found = gradients(tf.jax_function(by_hand, plain, "cuda"))
    np.testing.assert_array_equal(found, [[10.0, 21.0], [5.0, 7.0], [2.0, 3.0]])


def test_many_rows_are_computed_by_the_reference():
    call = tf.jax_function(by_hand, plain)
    with tf.GradientTape() as tape:
        tape.watch(X)
        z = call(X, Y)
    np.testing.assert_array_equal(tape.jacobian(z, X), np.diag([5.0, 7.0]))


def test_the_gradient_of_the_gradient_is_that_of_the_reference():
    call = tf.jax_function(by_hand, plain)
    with tf.GradientTape() as tape:
        tape.watch(Y)
        (_, dx, _) = gradients(call)
    np.testing.assert_array_equal(dx, [50.0, 70.0])
    np.testing.assert_array_equal(tape.gradient(dx, Y), [1.0, 1.0])


def test_a_kernel_for_one_platform_needs_a_reference():
    with pytest.raises(ValueError, match="A function for cuda alone needs a reference for the other platforms"):
        tf.jax_function(by_hand, platform="cuda")
