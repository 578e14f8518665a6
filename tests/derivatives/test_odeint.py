"""Solutions of differential equations have derivatives to all that they depend on, in both modes, to order 3."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.ode import odeint as odeint_of_jax

import gradtape as tf
from tests.derivatives.cases import nth

ad = tf.autodiff
EXACT = {"rtol": 1e-8, "atol": 1e-8}


def c(value):
    return tf.constant(value, tf.float64)


def solve(f, y0, *times, **options):
    return ad.odeint(f, y0, list(times), **{**EXACT, **options})[-1]


def hit(height):
    """When a stone falls from a height."""
    begin = tf.stack([height, c(0.0)])
    return ad.odeint_event(lambda t, y: tf.stack([y[1], c(-10.0)]), begin, [0.0, 9.0], lambda t, y: y[0], **EXACT)[0]


def swinging(w):
    """A nest, with two times to come."""
    begin = {"x": c(1.0), "v": c(0.0)}
    return ad.odeint(lambda t, y: {"v": -w * w * y["x"], "x": y["v"]}, begin, [0.0, 0.5, 1.0], **EXACT)["x"][1]


E = math.exp(-1.0)
HALF = math.cos(0.75), -0.5 * math.sin(0.75), -0.25 * math.cos(0.75)
CLOSED_FORMS = {  # of a: the function, a, and its derivatives there
    "rate": (lambda a: solve(lambda t, y: -a * y, c(1.0), 0.0, 2.0), 0.5, [E, -2 * E, 4 * E, -8 * E]),
    "start": (lambda a: solve(lambda t, y: y * (1.0 - y), a, 0.0, math.log(2)), 0.5, [2 / 3, 8 / 9, -32 / 27, 64 / 27]),
    "end": (lambda a: solve(lambda t, y: -t * y, c(1.0), 0.0, a), 1.0, [E**0.5, -(E**0.5), 0.0, 2 * E**0.5]),
    "begin": (lambda a: solve(lambda t, y: -y, c(1.0), a, 1.0), 0.0, [E, E, E, E]),
    "between": (swinging, 1.5, HALF),
    "event": (hit, 20.0, [2.0, 0.05, -0.00125, 9.375e-5]),
    "left": (lambda a: solve(lambda t, y: -20.0 * a * tf.sqrt(y), c(1.0), 0.0, 0.09), 1.0, [0.01, -0.18, 1.62, 0.0]),
}


MODES = [(name, modes) for name in CLOSED_FORMS for modes in ("", "r", "f")]
MODES += [("start", "rf"), ("end", "rr"), ("begin", "fr"), ("left", "rr"), ("event", "rf"), ("rate", "rrr"), ("event", "rrr")]


@pytest.mark.parametrize(("name", "modes"), MODES)
def test_derivatives_are_those_of_the_closed_form(name, modes):
    """`left`: steps that leave the domain of f are tried and not taken; their NaN must not reach a gradient."""
    function, at, expected = CLOSED_FORMS[name]
    assert float(nth(function, c(at), modes)) == pytest.approx(expected[len(modes)], rel=2e-6, abs=2e-6)


def test_in_functions_and_maps():
    function, at, expected = CLOSED_FORMS["rate"]
    assert float(tf.function(lambda a: nth(function, a, "r"))(c(at))) == pytest.approx(expected[1], rel=1e-6)
    mapped = nth(lambda a: tf.vectorized_map(function, a), c([at, 0.0]), "r")
    assert mapped.numpy() == pytest.approx([expected[1], -2.0], rel=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_agrees_with_a_second_implementation(kind):
    """Prey and hunters, with a gradient to all rates, the start and the times; those of the states between are denser."""
    rates, begin, times = np.array([1.1, 0.4, 0.1, 0.4], kind), np.array([10.0, 5.0], kind), np.linspace(0.0, 6.0, 7, dtype=kind)
    weights = np.linspace(1.0, 2.0, 14).reshape(7, 2).astype(kind)
    digits = 1e-7 if kind is np.float64 else 1e-5

    def by(stack, odeint, rates, begin, times, **options):
        def f(y, t):
            return stack([rates[0] * y[0] - rates[1] * y[0] * y[1], rates[2] * y[0] * y[1] - rates[3] * y[1] + 0.0 * t])

        return odeint(f, begin, times, **options)

    given = [tf.Variable(x) for x in (rates, begin, times)]
    with tf.GradientTape() as tape:
        ours = by(tf.stack, lambda f, *a, **o: ad.odeint(lambda t, y: f(y, t), *a, **o), *given, rtol=digits, atol=digits)
        y = tf.reduce_sum(ours * weights)
    with jax.enable_x64(True):
        wide = [jnp.asarray(x, jnp.float64) for x in (rates, begin, times)]
        total = lambda *a: jnp.sum(by(jnp.stack, odeint_of_jax, *a, rtol=1e-10, atol=1e-10) * weights.astype(float))  # noqa: E731
        wanted, gradients = jax.value_and_grad(total, (0, 1, 2))(*wide)
    assert float(y) == pytest.approx(float(wanted), rel=20 * digits)
    for found, expected in zip(tape.gradient(y, given), gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=100 * digits, atol=100 * digits * np.abs(expected).max())


def test_the_loop_takes_as_many_steps_as_its_tolerances_ask_for():
    """Between steps the solution is a polynomial: more times are not more steps."""
    errors = []
    for tolerance in (1e-4, 1e-7):
        times = np.linspace(0.0, 3.0, 50)
        y = ad.odeint(lambda t, y: tf.stack([y[1], -y[0]]), c([1.0, 0.0]), times, rtol=tolerance, atol=tolerance, max_steps=40)
        errors.append(np.abs(y[:, 0] - np.cos(times)).max())
    assert errors[0] < 1e-3
    assert errors[1] < 1e-6


def decay(t, y):
    return -y


ERRORS = {
    "pole": (lambda: ad.odeint(lambda t, y: y * y, c(1.0), [0.0, 2.0]), tf.errors.InvalidArgumentError, r"ended at t = 1 after"),
    "in a function": (
        lambda: tf.function(lambda: ad.odeint(lambda t, y: y * y, c(1.0), [0.0, 2.0]))(),
        tf.errors.InvalidArgumentError,
        "no solution: it ended at t = 1",
    ),
    "NaN": (lambda: ad.odeint(lambda t, y: y * np.nan, c(1.0), [0.0, 1.0]), tf.errors.InvalidArgumentError, "after 0 steps"),
    "steps": (lambda: ad.odeint(decay, c(1.0), [0.0, 9.0], max_steps=3), tf.errors.InvalidArgumentError, "after 3 steps"),
    "no event": (
        lambda: ad.odeint_event(decay, c(1.0), [0.0, 1.0], lambda t, y: y),
        tf.errors.InvalidArgumentError,
        "the same sign all the way",
    ),
    "equal times": (lambda: ad.odeint(decay, c(1.0), [0.0, 0.0]), tf.errors.InvalidArgumentError, r"must increase, received \[0"),
    "a NaN time": (lambda: ad.odeint(decay, c(1.0), [0.0, np.nan]), tf.errors.InvalidArgumentError, "must increase"),
    "one time": (lambda: ad.odeint(decay, c(1.0), [0.0]), ValueError, r"a vector of at least two .* shape \(1,\)"),
    "three for an event": (lambda: ad.odeint_event(decay, c(1.0), [0.0, 1.0, 2.0], decay), ValueError, "times must be two"),
    "integers": (lambda: ad.odeint(decay, 1, [0.0, 1.0]), ValueError, "all float32 or all float64, received int32"),
    "integer times": (lambda: ad.odeint(decay, 1.0, tf.constant([0, 1])), ValueError, "floating numbers, received dtype int32"),
    "shape": (lambda: ad.odeint(lambda t, y: y[1:], c([1.0, 2.0]), [0.0, 1.0]), ValueError, r"has shape \(1,\)"),
    "event": (lambda: ad.odeint_event(decay, c([1.0]), [0.0, 1.0], decay), ValueError, r"one scalar; it returned shape \(1,\)"),
    "no function": (lambda: ad.odeint(c(1.0), c(1.0), [0.0, 1.0]), TypeError, "odeint takes a function"),
    "values": (
        lambda: ad.odeint(lambda t, y: y if float(t) > 0.0 else -y, c(1.0), [0.0, 1.0]),
        NotImplementedError,
        "looks at values",
    ),
    "rtol": (lambda: ad.odeint(decay, 1.0, [0.0, 1.0], rtol=1e-9), ValueError, "between 1.2e-07 and 1 for float32"),
    "atol": (lambda: ad.odeint(decay, c(1.0), [0.0, 1.0], atol=-1.0), ValueError, "atol must be"),
    "max_steps": (lambda: ad.odeint(decay, c(1.0), [0.0, 1.0], max_steps=True), ValueError, "a positive int, received True"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()


def test_the_steps_are_made_once_for_a_gradient_in_a_function():
    """A call of the loop would be one loop for the solution, and another with checkpoints for the gradient."""

    @tf.function
    def gradient(rate):
        with tf.GradientTape() as tape:
            tape.watch(rate)
            y = ad.odeint(lambda t, y: -rate * y, c([1.0]), [0.0, 1.0])
        return tape.gradient(y, rate)

    def loops(program):
        held = [op.programs(attrs) for op, attrs, *_ in program.keys]
        return sum(op.type == "While" for op, *_ in program.keys) + sum(loops(p) for inner in held for p in inner)

    assert loops(gradient.get_concrete_function(c(0.5)).program) == 1
    assert float(gradient(c(0.5))) == pytest.approx(-np.exp(-0.5), rel=1e-5)
