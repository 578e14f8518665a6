"""Weights, robust losses, bands of predictions and directions that data do not determine are those of SciPy and of algebra."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import curve_fit, least_squares

import gradtape as tf

LM = tf.optimizers.LevenbergMarquardt
random = np.random.default_rng(4)
X = np.linspace(0.0, 4.0, 25)
Y = 3.0 * np.exp(-0.7 * X) + 0.05 * random.standard_normal(25)
SIGMA = 0.02 + 0.05 * random.random(25)
OUTLIERS = Y + np.where(np.arange(25) % 6 == 2, 3.0, 0.0)


def curve(x, a, k):
    return a * np.exp(-k * x)


def fitted(y, **options):
    b = tf.Variable([1.0, 1.0], dtype=tf.float64)
    return b, LM(**options.pop("settings", {})).minimize(lambda: b[0] * tf.exp(-b[1] * X) - y, b, **options)


@pytest.mark.parametrize("solver", ["dense", "matrix_free"])
def test_weights_are_inverse_variances(solver):
    b, found = fitted(Y, weights=SIGMA**-2, settings={"solver": solver, "cg_tolerance": 1e-8})
    best, covariance = curve_fit(curve, X, Y, [1.0, 1.0], SIGMA)
    np.testing.assert_allclose(b, best, rtol=1e-6)
    if solver == "dense":
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-4)


def test_a_weight_of_zero_leaves_a_residual_out():
    b, found = fitted(np.where(X < 2.0, Y, np.nan), weights=(X < 2.0).astype(float))
    best, covariance = curve_fit(curve, X[X < 2.0], Y[X < 2.0], [1.0, 1.0])
    np.testing.assert_allclose(b, best, rtol=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"damping": "nielsen"}, {"geodesic_acceleration": True}], ids=str)
@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy"])
def test_robust_losses_are_those_of_scipy(loss, settings):
    b, found = fitted(OUTLIERS, loss=loss, loss_scale=0.1, settings=settings)
    beside = least_squares(
        lambda b: curve(X, *b) - OUTLIERS, [1.0, 1.0], loss=loss, f_scale=0.1, xtol=1e-12, ftol=1e-12, gtol=1e-12
    )
    assert found.sum_of_squares == pytest.approx(2.0 * beside.cost, rel=1e-7)
    np.testing.assert_allclose(b, beside.x, rtol=1e-4)
    assert abs(b.numpy() - [3.0, 0.7]).max() < 0.2 < abs(fitted(OUTLIERS)[0].numpy() - [3.0, 0.7]).max()


def test_a_residual_of_zero_has_a_loss_with_a_derivative():
    for loss in ("huber", "soft_l1", "cauchy"):
        x = tf.Variable([1.0, 2.0])
        found = LM().minimize(lambda x=x: tf.concat([x - [1.0, 3.0], x - [1.0, 3.0]], 0), x, loss=loss)
        assert found.converged
        np.testing.assert_allclose(x, [1.0, 3.0], rtol=1e-3)


@pytest.mark.parametrize("observations", [False, True])
def test_bands_of_a_line_are_those_of_the_textbook(observations):
    w = tf.Variable([0.0, 0.0], dtype=tf.float64)
    found = LM().minimize(lambda: w[0] + w[1] * X - Y, w)
    at = np.array([-1.0, 0.5, 9.0])
    predicted, half = found.band(lambda: w[0] + w[1] * at, level=0.9, observations=observations)
    line = np.polynomial.Polynomial.fit(X, Y, 1).convert()
    np.testing.assert_allclose(predicted, line(at), rtol=1e-7)
    deviation = np.sqrt(np.sum((line(X) - Y) ** 2) / 23)
    spread = observations + 1 / 25 + (at - X.mean()) ** 2 / np.sum((X - X.mean()) ** 2)
    np.testing.assert_allclose(half, stats.t.ppf(0.95, 23) * deviation * np.sqrt(spread), rtol=1e-6)


def test_directions_that_the_residuals_do_not_determine_are_told():
    a, b = tf.Variable(1.0, dtype=tf.float64), tf.Variable([2.0, 5.0], dtype=tf.float64)
    found = LM().minimize(lambda: (a + 2.0 * b[0]) * X - Y, [a, b])
    assert found.covariance is None
    assert found.undetermined.shape == (2, 3)
    np.testing.assert_allclose(found.undetermined @ [1.0, 2.0, 0.0], 0.0, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found.undetermined, axis=1), 1.0)
    with pytest.raises(ValueError, match="do not change along 2 directions, the first of which is"):
        found.band(lambda: a * X)
    fewer = tf.Variable([1.0, 2.0, 3.0])
    assert LM().minimize(lambda: fewer[:2] - fewer[1:], fewer).undetermined.shape == (1, 3)
    assert fitted(Y)[1].undetermined.shape == (0, 2)
    assert fitted(Y, settings={"solver": "matrix_free"})[1].undetermined is None


ERRORS = {
    "loss": ({"loss": "l1"}, "loss must be one of 'squares', 'huber'"),
    "scale": ({"loss": "huber", "loss_scale": 0.0}, "loss_scale must be a positive number, received 0.0"),
    "negative": ({"weights": -np.ones(25)}, "finite and not negative; number 0 of residuals 0 is -1.0"),
    "NaN": ({"weights": np.where(X == 0.0, np.nan, 1.0)}, "number 0 of residuals 0 is nan"),
    "shape": ({"weights": np.ones(24)}, r"of the residuals' shape, \(25,\); received shape \(24,\)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    options, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        fitted(Y, **options)


def test_what_has_no_band():
    x = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="no more observations than parameters"):
        LM().minimize(lambda: x - 3.0, x).band(lambda: x)
    with pytest.raises(ValueError, match="1 entries for 2 tensors"):
        LM().minimize(lambda: [x - 3.0, x], x, weights=[1.0])
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        fitted(Y)[1].band(lambda: x, level=95)
