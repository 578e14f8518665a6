"""A custom gradient whose gradient function uses the function itself, in a `tf.function`: any order, in both modes."""

import math

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


def reverse(function):
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    return slope


def forward(function):
    def slope(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = function(x)
        return accumulator.jvp(y)

    return slope


def derivative(function, modes):
    for mode in reversed(modes):
        function = reverse(function) if mode == "r" else forward(function)
    return function


@tf.custom_gradient
def own(x):
    return tf.exp(2.0 * x), lambda dy: dy * 2.0 * own(x)


@tf.custom_gradient
def in_a_function(x):
    return tf.exp(2.0 * x), lambda dy: dy * 2.0 * called(x)


called = tf.function(in_a_function)


@tf.custom_gradient
def with_constants(x):
    return tf.exp(2.0 * x), lambda dy: dy * tf.constant(2.0, tf.float64) * with_constants(x)


def of_a_capture(x):
    rate = tf.stop_gradient(x * 0.0 + 2.0)

    @tf.custom_gradient
    def of(x):
        return tf.exp(rate * x), lambda dy: dy * rate * of(x)

    return of(x)


def looped(x):
    i, y = tf.constant(0), tf.zeros_like(x)
    while i < 2:
        y, i = y + own(x) / 2.0, i + 1
    return y


FUNCTIONS = {
    "own": own,
    "function": called,
    "constants": with_constants,
    "capture": of_a_capture,
    "branch": lambda x: tf.cond(x > 0.0, lambda: own(x), lambda: x),
    "map": lambda x: tf.reduce_sum(tf.map_fn(own, tf.stack([x, x]))) / 2.0,
    "vectorized map": lambda x: tf.reduce_sum(tf.vectorized_map(own, tf.stack([x, x]))) / 2.0,
    "while": looped,
}


@pytest.mark.parametrize("modes", ["rrrrrr", "fff", "rfr"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_orders(name, modes):
    if name == "while" and modes == "fff":
        modes = "rrff"  # each forward mode doubles a loop
    x = tf.constant(0.5, tf.float64)
    wanted = 2.0 ** len(modes) * math.e
    assert float(derivative(tf.function(FUNCTIONS[name]), modes)(x)) == pytest.approx(wanted, rel=1e-12)
    assert float(tf.function(derivative(FUNCTIONS[name], modes))(x)) == pytest.approx(wanted, rel=1e-12)


def test_orders_in_a_graph():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float64, [])
        y = own(x)
        for _ in range(6):
            (y,) = tf.gradients(y, x)
        assert session.run(y, {x: 0.5}) == pytest.approx(64.0 * math.e, rel=1e-12)


def test_a_variable_has_the_value_of_the_call():
    rate = tf.Variable(2.0, dtype=tf.float64)

    @tf.custom_gradient
    def of(x):
        return tf.exp(rate * x), lambda dy, variables=None: (dy * rate * of(x), [dy * x * of(x)])

    @tf.function
    def step(x):
        y = of(x)
        rate.assign_add(1.0)
        return y

    assert float(derivative(step, "rrrr")(tf.constant(0.5, tf.float64))) == pytest.approx(16.0 * math.e, rel=1e-12)


def test_an_end_that_the_gradient_function_finds():
    def powers(n, x):
        @tf.custom_gradient
        def of(x):
            def grad(dy):
                if n == 1:
                    return dy
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = powers(n - 1, x)
                return dy * (tape.gradient(y, x) * x + y)

            return x**n, grad

        return of(x)

    x = tf.constant(0.5, tf.float64)
    assert float(derivative(tf.function(lambda x: powers(6, x)), "rr")(x)) == pytest.approx(30 * 0.5**4, rel=1e-12)


def test_without_an_end():
    @tf.custom_gradient
    def endless(x):
        return tf.identity(x), lambda dy: dy * reverse(endless)(x)

    with pytest.raises(RecursionError, match="recursion"):
        derivative(tf.function(endless), "r")(tf.constant(1.0))


def test_what_it_did_not_use_before():
    calls = []

    def of_two(x):
        one, other = tf.stop_gradient(3.0 * x), tf.stop_gradient(4.0 * x)

        @tf.custom_gradient
        def fickle(x):
            def grad(dy):
                calls.append(dy)
                return dy * fickle(x) * (one if len(calls) < 3 else other)

            return tf.exp(x), grad

        return fickle(x)

    with pytest.raises(
        NotImplementedError, match=r"of fickle calls fickle, and there uses a tensor .* give it to fickle as an arg"
    ):
        derivative(tf.function(of_two), "rrrr")(tf.constant(1.0))
