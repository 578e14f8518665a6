"""Roots, fixed points, minima and solutions of linear systems have derivatives, in both modes, to order 3."""

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.derivatives import linear_solve as systems
from tests.derivatives.cases import nth

ad = tf.autodiff
LOG2 = 0.6931471805599453


def c(value):
    return tf.constant(value, tf.float64)


CLOSED_FORMS = {  # of a: the function, a, and its derivatives there
    "root": (lambda a: ad.root(lambda z: z * z - a, c(1.0)), 4.0, [2.0, 1 / 4, -1 / 32, 3 / 256]),
    "fixed_point": (lambda a: ad.fixed_point(lambda z: a * z + 1.0, c(0.0)), 0.5, [2.0, 4.0, 16.0, 96.0]),
    "argmin": (lambda a: ad.argmin(lambda z: tf.exp(z) - a * z, c(0.0)), 2.0, [LOG2, 1 / 2, -1 / 4, 1 / 4]),
    "linear_solve": (lambda a: ad.linear_solve(lambda x: a * x, a * a * a + 1.0), 1.0, [2.0, 1.0, 4.0, -6.0]),
    "ridge": (lambda a: ad.argmin(lambda z: (2.0 * z - 1.0) ** 2 + a * z * z, c(0.0)), 1.0, [0.4, -0.08, 0.032, -0.0192]),
    "nested": (
        lambda a: ad.root(lambda z: z - ad.root(lambda y: y * y - a * z, c(2.0)), c(1.0)),
        2.0,
        [2.0, 1.0, 0.0, 0.0],
    ),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("modes", ["", "r", "f", "fr", "rf", "rrr", "fff"])
def test_derivatives_are_those_of_the_closed_form(name, modes):
    function, at, expected = CLOSED_FORMS[name]
    assert float(nth(function, c(at), modes)) == pytest.approx(expected[len(modes)], rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("name", ["root", "fixed_point", "argmin", "linear_solve"])
def test_in_functions_branches_loops_and_maps(name):
    function, at, expected = CLOSED_FORMS[name]

    @tf.function
    def third(a):
        return nth(function, a, "rfr")

    @tf.function
    def in_control_flow(a):
        y = tf.zeros([], tf.float64)
        for _ in tf.range(2):
            if a > 0.0:
                y += function(a)
        return y

    assert float(third(c(at))) == pytest.approx(expected[3], rel=1e-7)
    assert float(nth(in_control_flow, c(at), "fr")) == pytest.approx(2 * expected[2], rel=1e-7)
    mapped = nth(lambda a: tf.vectorized_map(function, a), c([at, at]), "r")
    assert mapped.numpy() == pytest.approx([expected[1]] * 2, rel=1e-7)


def equations(w, b):
    return lambda z: {"u": tf.tanh(tf.linalg.matvec(w, z["u"])) + b - 2.0 * z["u"], "v": z["v"] * 3.0 - tf.reduce_sum(z["u"])}


@pytest.mark.parametrize("dense", [512, 1])
@pytest.mark.parametrize("kind", [tf.float32, tf.float64])
def test_nests_variables_and_either_way_to_solve_agree_with_differences(monkeypatch, dense, kind):
    """Above `DENSE` unknowns systems are solved by GMRES, in the search and in the gradient."""
    monkeypatch.setattr(systems, "DENSE", dense)
    draw = np.random.default_rng(0).standard_normal
    w, b = tf.Variable(draw((4, 4)) * 0.3, dtype=kind), tf.Variable(draw(4) + dense * 1e-9, dtype=kind)

    def value():
        z = ad.root(equations(w, b), {"u": tf.zeros([4], kind), "v": tf.zeros([], kind)})
        return tf.reduce_sum(z["u"] ** 3) + z["v"]

    with tf.GradientTape() as tape:
        y = value()
    gradients = tape.gradient(y, [w, b])
    z = tf.zeros([4], kind)
    with tf.GradientTape() as tape:
        for _ in range(60):
            z = 0.5 * (tf.tanh(tf.linalg.matvec(w, z)) + b)
        unrolled = tf.reduce_sum(z**3) + tf.reduce_sum(z) / 3.0
    digits = 1e-10 if kind == tf.float64 else 1e-5
    assert float(y) == pytest.approx(float(unrolled), rel=digits)
    for found, expected in zip(gradients, tape.gradient(unrolled, [w, b]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=digits, atol=digits)


@pytest.mark.parametrize("dense", [512, 2])
def test_linear_solve_is_that_of_the_matrix(monkeypatch, dense):
    monkeypatch.setattr(systems, "DENSE", dense)
    a, b = np.random.default_rng(1).standard_normal((2, 6, 6)) + dense * 1e-9
    a, b = c(a), c(b[0])

    def by_products(a, b):
        return tf.reduce_sum(ad.linear_solve(lambda x: tf.linalg.matvec(a, x), b) ** 2)

    def by_matrix(a, b):
        return tf.reduce_sum(tf.linalg.solve(a, b[:, None]) ** 2)

    for found, expected in zip(
        [*ad.jacrev(by_products, (a, b)), *ad.hvp(by_products, (a, b), (a, b))],
        [*ad.jacrev(by_matrix, (a, b)), *ad.hvp(by_matrix, (a, b), (a, b))],
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_hard_starts():
    valley = ad.argmin(lambda z: (1.0 - z[0]) ** 2 + 100.0 * (z[1] - z[0] ** 2) ** 2, c([-1.2, 1.0]))
    np.testing.assert_allclose(valley, [1.0, 1.0], rtol=1e-10)
    far = ad.root(tf.math.atan, c(20.0))  # where undamped steps lead away
    assert float(far) == pytest.approx(0.0, abs=1e-12)
    away = ad.argmin(lambda z: tf.cos(z), c(0.1))  # beside a maximum
    assert float(tf.cos(away)) == pytest.approx(-1.0)


def test_a_singular_derivative_gives_nan_and_no_number():
    a = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        z = ad.fixed_point(lambda z: z + 0.0 * a, 1.0)
    assert np.isnan(float(tape.gradient(z, a)))
    consistent = tf.constant([[1.0, 1.0], [1.0, 1.0]], tf.float64) * (1.0 / 3.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="singular to rounding"):
        ad.linear_solve(lambda x: tf.linalg.matvec(consistent, x), c([2.0, 2.0]))


ERRORS = {
    "no root": (lambda: ad.root(lambda z: z * z + 1.0, c(1.0)), tf.errors.InvalidArgumentError, "residual is 1, the last step"),
    "no fixed point": (
        lambda: ad.fixed_point(lambda z: 2.0 * z + 1.0, c(1.0), max_steps=20),
        tf.errors.InvalidArgumentError,
        r"fixed_point did not converge in 20 steps: the residual is 2.1e\+06",
    ),
    "a maximum": (lambda: ad.argmin(lambda z: -z * z, c(0.0)), tf.errors.InvalidArgumentError, "argmin did not converge"),
    "in a function": (
        lambda: tf.function(lambda: ad.root(lambda z: z * z + 1.0, c(1.0)))(),
        tf.errors.InvalidArgumentError,
        "root did not converge in 100 steps",
    ),
    "not linear": (lambda: ad.linear_solve(lambda x: x * x, c([1.0])), ValueError, "must be linear"),
    "not scalar": (lambda: ad.argmin(lambda z: z, c([1.0])), ValueError, r"returns one scalar; it returned shape \(1,\)"),
    "another shape": (lambda: ad.root(lambda z: z[1:], c([1.0, 2.0])), ValueError, r"has shape \(1,\)"),
    "integers": (lambda: ad.root(lambda z: z, 1), ValueError, "all float32 or all float64, received int32"),
    "values": (lambda: ad.root(lambda z: z if float(z) > 0.0 else -z, c(1.0)), NotImplementedError, "looks at values"),
    "effects": (lambda: ad.root(lambda z: z + tf.random.normal([], dtype=tf.float64), c(1.0)), ValueError, "must be pure"),
    "no function": (lambda: ad.root(3.0, c(1.0)), TypeError, "takes a function"),
    "steps": (lambda: ad.root(lambda z: z, c(1.0), max_steps=0), ValueError, "positive int"),
    "tolerance": (lambda: ad.root(lambda z: z, c(1.0), tolerance=0.0), ValueError, "between 0 and 1"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("slope", [0.3, -0.9, 0.99])
@pytest.mark.parametrize("modes", ["r", "f", "fr", "rrr"])
def test_a_fixed_point_that_repetition_finds_slowly_has_the_same_derivatives(slope, modes):
    """A system is solved by repetition, or else by factors: the matrix is far from normal, so that errors grow at first."""
    matrix = tf.constant([[slope, 5.0], [0.0, slope]], tf.float64)

    def total(a):
        z = ad.fixed_point(lambda z: tf.linalg.matvec(matrix * a, z) + 1.0, tf.zeros([2], tf.float64), max_steps=20_000)
        return tf.reduce_sum(z)

    def closed(a):
        step = 1.0 / (1.0 - slope * a)
        return 2.0 * step + 5.0 * a * step * step

    assert float(nth(total, c(0.99), modes)) == pytest.approx(float(nth(closed, c(0.99), modes)), rel=1e-6)
