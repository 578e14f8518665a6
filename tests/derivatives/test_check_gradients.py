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
        (lambda: check_gradients(lambda x: None, [np.ones(2)]), TypeError, "f must return a tensor, .* it returned None"),
        (lambda: check_gradients(lambda x: x.numpy().sum(), [np.ones(2)]), TypeError, r"returned np.float64\(2.0\), a float64"),
        (lambda: check_gradients(tf.math.log, [-np.ones(2)]), ValueError, "result 0 of f is not finite at these arguments"),
    ],
    ids=["args", "order", "mode", "integers", "bool", "none", "numpy", "not finite"],
)
def test_what_it_cannot_check(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("modes", [("reverse",), ("forward",), ("reverse", "forward")])
@pytest.mark.parametrize(
    "f, args",
    [
        (lambda z: z * z * tf.math.conj(z), [np.array([1 + 2j, -0.5j])]),
        (lambda z: tf.abs(z) ** 2, [np.array(1 + 2j, np.complex64)]),
        (lambda a, b: {"y": a["x"] * b[0], "i": a["i"]}, [{"x": np.array([0.5, 1.5]), "i": np.array([1])}, [np.array(2.0)]]),
        (tf.function(lambda x: tf.while_loop(lambda y: y < 9.0, lambda y: (y * x,), (x,))[0]), [np.array(1.7)]),
        (lambda x: tf.linalg.norm(x), [np.array([3.0, 4.0])]),
    ],
    ids=["complex", "modulus", "nests", "loop", "norm"],
)
def test_modes_nests_and_complex_numbers(f, args, modes):
    check_gradients(f, args, modes=modes)


def test_what_is_not_floating_is_skipped_by_name():
    def f(a, i, flag):
        return tf.gather(a["x"], i) * tf.cast(flag, tf.float64) + tf.cast(a["n"], tf.float64)

    skipped = check_gradients(f, [{"x": np.array([1.0, 2.0]), "n": np.array(3)}, np.array([1]), np.array(True)])
    assert skipped == ["argument 0['n']", "argument 1", "argument 2"]


def test_a_wrong_gradient_in_a_nest_and_of_a_complex_number_is_named():
    with pytest.raises(GradientMismatch, match=r"argument 0\['x'\] at index \[1\]: numerical"):
        check_gradients(lambda a: scaled_gradient(1.001)(a["x"]) * [0.0, 1.0], [{"x": np.array([0.5, 1.5])}])

    @tf.custom_gradient
    def not_conjugated(z):
        return z * z, lambda dy: dy * 2.0 * z

    with pytest.raises(GradientMismatch, match=r"argument 0 at index \[0\], imaginary part: numerical"):
        check_gradients(not_conjugated, [np.array([1e-9 + 2j])])


def test_a_wrong_forward_derivative_fails():
    with pytest.raises(GradientMismatch, match="forward derivative of order 1 is wrong"):
        check_gradients(scaled_gradient(1.001), [np.array([0.7, -1.1])], modes=("forward",))


def test_a_function_that_is_not_deterministic_is_named():
    def noisy(x):
        return x + tf.random.normal([2], dtype=tf.float64)

    counter = tf.Variable(0.0, dtype=tf.float64)
    with pytest.raises(ValueError, match="noisy is not deterministic: its result 0 differs between two calls"):
        check_gradients(noisy, [np.ones(2)])
    with pytest.raises(ValueError, match="is not deterministic"):
        check_gradients(lambda x: x * counter.assign_add(1.0), [np.ones(2)])
    check_gradients(lambda x: x + tf.random.stateless_normal([2], [1, 2], dtype=tf.float64), [np.ones(2)])
