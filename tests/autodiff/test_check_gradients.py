"""The public gradient checker: it passes what is right, and fails on what is wrong by a tenth of a per cent."""

import numpy as np
import pytest

import gradtape as tf
from gradtape.autodiff import GradientMismatch, check_gradients


def scaled_gradient(factor):
    """x³, whose gradient is off by `factor`."""

    @tf.custom_gradient
    def cube(x):
        return x * x * x, lambda dy: dy * 3.0 * x * x * factor

    return cube


@pytest.mark.parametrize(
    "f, args",
    [
        (lambda x: tf.sin(x) * x, [np.array([0.5, 1.5])]),
        (lambda x, y: tf.matmul(x, y), [np.ones((2, 3)), np.arange(6.0).reshape(3, 2)]),
        (lambda x: [tf.exp(x), tf.reduce_sum(x * x)], [np.array([[0.1, 0.2], [0.3, 0.4]])]),
        (lambda x, i: tf.gather(x, i), [np.array([1.0, 2.0, 3.0]), np.array([2, 0])]),
        (lambda x: tf.constant(3.0, tf.float64) * 2.0 + 0.0 * x, [np.array(1.0)]),
        (scaled_gradient(1.0), [np.array([0.7, -1.1])]),
        (lambda x: x * 2.0, [np.float32(1.0)]),
    ],
    ids=["one", "two", "nest", "integers", "constant", "custom", "float32"],
)
def test_right_gradients_pass(f, args):
    check_gradients(f, args)


@pytest.mark.parametrize("factor", [1.001, 0.999, -1.0, 0.0, float("nan")])
def test_a_gradient_that_is_wrong_by_a_tenth_of_a_per_cent_fails(factor):
    with pytest.raises(GradientMismatch, match=r"argument 0 at index \[[01]\]: numerical .*, analytical "):
        check_gradients(scaled_gradient(factor), [np.array([0.7, -1.1])], order=1)


def test_the_message_names_the_element_and_both_numbers():
    @tf.custom_gradient
    def f(x):
        return x * x, lambda dy: dy * 2.0 * x * tf.constant([1.0, 1.0, 1.5], tf.float64)

    with pytest.raises(GradientMismatch, match=r"order 1 .*argument 0 at index \[2\]: numerical 2\.\d+, analytical 3\.\d+"):
        check_gradients(lambda x: tf.reduce_sum(f(x)), [np.ones(3)])


def test_a_wrong_second_order_fails_where_the_first_is_right():
    @tf.custom_gradient
    def f(x):
        frozen = tf.stop_gradient(x)
        return x * x, lambda dy: dy * 2.0 * frozen

    check_gradients(f, [np.array([0.7])], order=1)
    with pytest.raises(GradientMismatch, match="order 2"):
        check_gradients(f, [np.array([0.7])], order=2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: check_gradients(tf.sin, np.ones(2)), TypeError, "list or tuple"),
        (lambda: check_gradients(tf.sin, [np.ones(2)], order=3), ValueError, "order must be 1 or 2"),
        (lambda: check_gradients(tf.sin, [np.ones(2)], modes=("sideways",)), ValueError, "unknown mode 'sideways'"),
        (lambda: check_gradients(tf.identity, [np.ones(2, int)]), ValueError, "nothing to differentiate"),
        (lambda: check_gradients(lambda x: x > 0.0, [np.ones(2)]), ValueError, "returned no floating tensor"),
    ],
    ids=["args", "order", "mode", "integers", "bool"],
)
def test_what_it_cannot_check(call, error, message):
    with pytest.raises(error, match=message):
        call()
