"""Gradients and dtypes: what warns, what gives `None`, and complex gradients."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


@pytest.mark.parametrize(
    "value, named", [(3, "int32"), ([1, 2], "int32"), (np.int64(3), "int64"), (True, "bool"), ("text", "string")]
)
def test_watching_what_is_not_floating_warns(value, named, caplog):
    x = tf.constant(value)
    with tf.GradientTape() as tape:
        tape.watch(x)
    assert f"The dtype of the watched tensor must be floating (e.g. tf.float32), got tf.{named}" in caplog.text
    assert tape.gradient(tf.constant(1.0), x) is None


@pytest.mark.parametrize("value", [1.0, np.float64(1.0), np.float16(1.0), 1.0 + 1.0j])
def test_watching_what_is_floating_does_not_warn(value, caplog):
    with tf.GradientTape() as tape:
        tape.watch(tf.constant(value))
    assert caplog.text == ""


@pytest.mark.parametrize("value, zeros", [(3, 0), ([1, 2], [0, 0])])
def test_an_integer_source_gives_none_or_integer_zeros(value, zeros):
    x = tf.constant(value)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x) is None
    gradient = tape.gradient(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert gradient.dtype == tf.int32
    agree(gradient, zeros)


def test_the_warnings_name_the_one_gradient_of_integers(caplog):
    x = tf.constant([1, 2])
    with tf.GradientTape() as tape:
        tape.watch(x)
    agree(tape.gradient(x, x), [1, 1])
    watched, target, source = [record.getMessage() for record in caplog.records]
    assert watched.endswith("Its gradient is None, but for that of the tensor to itself.")
    assert target.endswith("The gradient is None, except for that of a watched tensor with respect to itself.")
    assert source.endswith("Its gradient is None, except for that of a watched tensor with respect to itself.")


def test_an_integer_target_gives_none():
    x = tf.constant(2.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.int32)
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gradients_keep_the_dtype_of_their_source(dtype):
    x = tf.constant([1.0, 2.0], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x * x)
    gradient = tape.gradient(y, x)
    assert gradient.dtype == tf.as_dtype(dtype)
    agree(tf.cast(gradient, tf.float32), [2.0, 4.0])


def test_gradient_through_a_cast_between_floats():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cast(x, tf.float64) ** 2
    assert y.dtype == tf.float64
    gradient = tape.gradient(y, x)
    assert gradient.dtype == tf.float32
    agree(gradient, 6.0)


@pytest.mark.parametrize(
    "function, dz",
    [
        (lambda z: z * z, 2 - 4j),
        (lambda z: z**3, -9 - 12j),
        (tf.exp, -1.1312044 - 2.4717266j),
        (tf.sin, 2.0327230 + 3.0518978j),
        (lambda z: 1 / z, 0.12 - 0.16j),
        (tf.abs, 0.4472136 + 0.8944272j),
        (tf.math.real, 1.0),
        (tf.math.imag, 1j),
        (tf.math.conj, 1.0),
        (lambda z: tf.abs(z) ** 2, 2 + 4j),
    ],
)
def test_complex_gradients_are_conjugate(function, dz):
    z = tf.constant(1 + 2j, tf.complex64)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = function(z)
    gradient = tape.gradient(y, z)
    assert gradient.dtype == tf.complex64
    agree(gradient, dz)


def test_the_derivative_of_a_complex_absolute_value_at_0_is_0_whatever_comes_back_to_it():
    z = tf.constant([0j, 3 + 4j], tf.complex64)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = tf.math.log(tf.abs(z))  # whose derivative at 0 is infinite
    agree(tape.gradient(y, z), [0, 0.12 + 0.16j])
