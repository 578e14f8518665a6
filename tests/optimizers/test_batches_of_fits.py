"""A batch of fits gives what each fit gives alone, with bounds, weights, losses, statistics and errors of each."""

import numpy as np
import pytest

import gradtape as tf

LM = tf.optimizers.LevenbergMarquardt
random = np.random.default_rng(7)
X = np.linspace(0.0, 4.0, 20)
TRUE = np.array([[3.0, 0.7], [1.0, 0.2], [5.0, 1.5], [2.0, 0.0]])
Y = TRUE[:, :1] * np.exp(-TRUE[:, 1:] * X) + 0.02 * random.standard_normal((4, 20))
WEIGHTS = (random.random((4, 20)) > 0.2).astype(float)


def model(b, y):
    return b["a"] * tf.exp(-b["k"] * tf.cast(X, y.dtype)) - y


def starts(count, dtype=tf.float64):
    return {"a": tf.Variable(np.full(count, 1.0), dtype=dtype), "k": tf.Variable(np.full(count, 1.0), dtype=dtype)}


def of(b):
    return np.stack([b["a"], b["k"]], -1)


@pytest.mark.parametrize(
    "settings, options",
    [
        ({}, {}),
        ({"damping": "nielsen"}, {"weights": WEIGHTS}),
        ({}, {"bounds": [(0.0, 2.5), (0.1, 10.0)]}),
        ({"geodesic_acceleration": True}, {"loss": "cauchy", "loss_scale": 0.05}),
        ({"solver": "matrix_free", "cg_tolerance": 1e-8}, {}),
    ],
    ids=["plain", "weights", "bounds", "loss", "matrix_free"],
)
def test_a_batch_is_each_fit_alone(settings, options):
    many = starts(4)
    found = LM(**settings).minimize_batch(model, many, Y, **options)
    for row, result in enumerate(found):
        one = {name: tf.Variable(1.0, dtype=tf.float64) for name in many}
        own = {name: value[row] if name == "weights" else value for name, value in options.items()}
        expected = LM(**settings).minimize(lambda one=one, row=row: model(one, tf.constant(Y[row])), one, **own)
        np.testing.assert_allclose(of(many)[row], of(one), rtol=1e-7)
        assert (result.converged, result.message, result.iterations) == (True, expected.message, expected.iterations)
        np.testing.assert_allclose(result.history, expected.history, rtol=1e-8)
        np.testing.assert_allclose(result.optimality, expected.optimality, rtol=1e-3, atol=1e-6)
        if expected.covariance is None:
            assert result.covariance is None
        else:
            np.testing.assert_allclose(result.covariance, expected.covariance, rtol=1e-5)
            there = result.band(lambda row=row: many["a"][row] * tf.exp(-many["k"][row] * [1.0, 9.0]))
            alone = expected.band(lambda one=one: one["a"] * tf.exp(-one["k"] * [1.0, 9.0]))
            np.testing.assert_allclose(there, alone, rtol=1e-5)


def test_float32_and_fits_that_take_different_numbers_of_steps():
    many = starts(4, tf.float32)
    found = LM().minimize_batch(model, many, Y.astype("float32"))
    np.testing.assert_allclose(of(many), TRUE, atol=0.1)
    assert all(result.converged for result in found) and len({result.iterations for result in found}) > 1


def test_bounds_of_each_fit():
    b = tf.Variable(np.zeros([3, 1]))
    low = np.array([[0.0], [2.0], [-1.0]])
    LM().minimize_batch(lambda b, y: b * y - 1.0, b, np.ones([3, 2]), bounds=[(low, 5.0)])
    np.testing.assert_allclose(b, [[1.0], [2.0], [1.0]])


B = tf.Variable(np.ones([3, 2]))
ERRORS = {
    "rows": ((lambda b, y: b * y, B, np.ones([4, 2])), r"counts the fits, received shapes \(3, 2\), \(4, 2\)"),
    "scalar": ((lambda b: b * [1.0, 2.0], tf.Variable(1.0)), r"counts the fits, received shapes \(\)"),
    "start": ((lambda b, y: tf.math.log(b * y), B, np.array([[1.0], [0.0], [1.0]])), "fit number 1 2 of 2 residuals are not"),
    "unused": ((lambda b, y: y * [1.0, 2.0], B, np.ones([3, 1])), "do not depend on Variable"),
    "weights": ((lambda b, y: b * y, B, np.ones([3, 1])), r"of the residuals' shape, \(3, 2\)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    given, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        LM().minimize_batch(*given, weights=np.ones(5) if name == "weights" else None)
    np.testing.assert_array_equal(B, 1.0)
