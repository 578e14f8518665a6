"""Functions whose formula is 0/0 at a point have the right derivatives there, of any order: closed forms."""

import math

import numpy as np
import pytest

import gradtape as tf

special = tf.math.special


def nth(f, order, x):
    """The derivative of a function of a number."""

    def derivative(x, order):
        if order == 0:
            return f(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = derivative(x, order - 1)
        return tape.gradient(y, x)

    return float(derivative(tf.constant(x, tf.float64), order))


# The function, the point, and the derivatives there from order 0.
POINTS = {
    "xlogy": (lambda x: tf.math.xlogy(x, 1.0 + x), 0.0, [0.0, 0.0, 2.0, -3.0]),
    "xlogy to its first": (lambda x: tf.math.xlogy(x, tf.constant(5.0, tf.float64)), 0.0, [0.0, math.log(5.0)]),
    "xlogy at 0, 0": (lambda x: tf.math.xlogy(x, x), 0.0, [0.0, 0.0]),  # as in TensorFlow; it is −∞
    "xlog1py": (lambda x: tf.math.xlog1py(x, x), 0.0, [0.0, 0.0, 2.0, -3.0]),
    "xdivy": (lambda x: tf.math.xdivy(x, 1.0 + x), 0.0, [0.0, 1.0, -2.0, 6.0]),
    "xdivy, complex": (
        lambda x: tf.math.real(tf.math.xdivy(tf.complex(x, 0.0 * x), tf.complex(1.0 + x, 1.0 + 0.0 * x))),
        0.0,
        [0.0, 0.5, 0.0],
    ),
    "multiply_no_nan": (lambda x: tf.math.multiply_no_nan(tf.exp(x), x), 0.0, [0.0, 1.0, 2.0, 3.0]),
    "J1": (special.bessel_j1, 0.0, [0.0, 0.5, 0.0, -3.0 / 8.0, 0.0, 5.0 / 16.0]),
    "I1": (tf.math.bessel_i1, 0.0, [0.0, 0.5, 0.0, 3.0 / 8.0, 0.0, 5.0 / 16.0]),
    "spence": (special.spence, 1.0, [0.0, -1.0, 1.0 / 2.0, -2.0 / 3.0, 3.0 / 2.0, -24.0 / 5.0]),
}


def test_multiply_no_nan_has_no_gradient_where_none_comes_in():
    """And one that is not finite reaches an argument beside a 0: each is 0 where what it is multiplied with is."""
    x, y, dy = (tf.constant(v) for v in ([np.inf, np.nan, 0.0], [2.0, 2.0, 2.0], [0.0, 0.0, np.inf]))
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        product = tf.math.multiply_no_nan(x, y)
    dx, to_y = tape.gradient(product, [x, y], output_gradients=dy)
    assert dx.numpy().tolist() == [0.0, 0.0, np.inf]
    np.testing.assert_array_equal(to_y.numpy(), [0.0, 0.0, np.nan])


@pytest.mark.parametrize("name", POINTS)
def test_at_the_point(name):
    f, x, expected = POINTS[name]
    np.testing.assert_allclose([nth(f, n, x) for n in range(len(expected))], expected, 1e-12, 1e-14)


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (special.bessel_j1, 1e-9, -3.0 / 8.0),
        (special.bessel_j1, 3.9, 0.31135476922057),
        (special.bessel_j1, 4.1, 0.2779190459077),
        (tf.math.bessel_i1, 1e-9, 3.0 / 8.0),
        (tf.math.bessel_i1, 29.5, 447820327473.39),
        (tf.math.bessel_i1, 30.5, 1199496195106.3),
        (special.spence, 1.0 + 1e-9, -2.0 / 3.0),
    ],
)
def test_third_derivatives_beside_it(f, x, expected):
    """Numbers of mpmath; away from the point two kernels meet."""
    np.testing.assert_allclose(nth(f, 3, x), expected, 1e-8)
