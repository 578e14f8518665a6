"""`ForwardAccumulator`, with TensorFlow's numbers."""

import numpy as np
import pytest

import gradtape as tf

Accumulator = tf.autodiff.ForwardAccumulator


def numbers(nest):
    return tf.nest.map_structure(lambda t: None if t is None else t.numpy().tolist(), nest)


def test_values_and_what_does_not_depend():
    x = tf.constant(3.0)
    with Accumulator(x, tf.constant(1.0)) as accumulator:
        y = x * x
        rest = [tf.floor(x), tf.cast(x, tf.int32), tf.sign(x), tf.stop_gradient(x) * 1.0, tf.constant(2.0) * 3.0]
    after = y * 2.0
    assert numbers(accumulator.jvp([y, x])) == [6.0, 1.0]
    assert accumulator.jvp([*rest[:2], *rest[3:], after]) == [None] * 5
    assert accumulator.jvp(rest[4], unconnected_gradients="zero").numpy() == 0.0


def test_variables():
    v = tf.Variable(2.0)
    with Accumulator(v, tf.constant(1.0)) as accumulator:
        y = v * v
        v.assign(5.0)
        z = v * v
        w, u = tf.Variable(v * 3.0), tf.Variable(0.0)
        u.assign(v * 3.0)
    assert numbers(accumulator.jvp([y, z, v, w, u])) == [4.0, 10.0, 1.0, None, None]


def test_structures():
    x, v = tf.constant(3.0), tf.Variable(5.0)
    with Accumulator((x, {"v": v}), (tf.constant(1.0), {"v": tf.constant(1.0)})) as accumulator:
        y = {"a": x * v, "b": [x + 0.0]}
    assert numbers(accumulator.jvp(y)) == {"a": 8.0, "b": [1.0]}


def test_nested_and_with_tapes():
    x = tf.constant(3.0)
    with Accumulator(x, tf.constant(1.0)) as outer:
        with Accumulator(x, tf.constant(1.0)) as inner:
            y = x**3
        slope = inner.jvp(y)
    assert numbers([slope, outer.jvp(slope), outer.jvp(y)]) == [27.0, 18.0, 27.0]

    with tf.GradientTape() as tape:
        tape.watch(x)
        with Accumulator(x, tf.constant(2.0)) as accumulator:
            y = x**3
        slope = accumulator.jvp(y)
    assert numbers([slope, tape.gradient(slope, x)]) == [54.0, 36.0]

    with Accumulator(x, tf.constant(2.0)) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        gradient = tape.gradient(y, x)
    assert accumulator.jvp(gradient).numpy() == 36.0


def test_what_is_asked_for_outside_is_on_the_tapes_around():
    x, one = tf.constant(1.1), tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with Accumulator(x, one) as first, Accumulator(x, one) as second, Accumulator(x, one) as third:
            y = x**3.5
    along = third.jvp(y)
    twice = second.jvp(along)
    thrice = first.jvp(twice)
    derivatives = [3.5 * 1.1**2.5, 3.5 * 2.5 * 1.1**1.5, 3.5 * 2.5 * 1.5 * 1.1**0.5, 3.5 * 2.5 * 1.5 * 0.5 * 1.1**-0.5]
    np.testing.assert_allclose([along, twice, thrice, tape.gradient(thrice, x)], derivatives, rtol=1e-5)
    assert third.jvp(along) is None  # an inner one does not see what an outer one gives
    assert second.jvp(first.jvp(y)) is None


def test_two_directions_of_one_point():
    x = tf.constant([1.0, 2.0])
    with Accumulator(x, tf.constant([1.0, 0.0])) as first, Accumulator(x, tf.constant([0.0, 1.0])) as second:
        y = tf.reduce_prod(x) ** 2
    assert [float(first.jvp(y)), float(second.jvp(y)), float(first.jvp(second.jvp(y)))] == [8.0, 4.0, 8.0]


def test_entered_again_and_asked_inside():
    x = tf.constant(3.0)
    accumulator = Accumulator(x, tf.constant(1.0))
    with accumulator:
        y = x * x
        inside = accumulator.jvp(y)
        product = inside * 2.0
    with accumulator:
        z = x**3
    assert numbers(accumulator.jvp([y, z, product])) == [6.0, 27.0, None]
    assert inside.numpy() == 6.0


def test_through_functions_and_loops():
    @tf.function
    def f(x):
        if x > 0:
            for _ in tf.range(2):
                x = x * x
        return x

    @tf.function
    def slope(x):
        with Accumulator(x, tf.ones_like(x)) as accumulator:
            y = f(x)
        return accumulator.jvp(y)

    x = tf.constant(2.0)
    with Accumulator(x, tf.constant(1.0)) as accumulator:
        y = f(x)
        z = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1]
    assert numbers([accumulator.jvp(y), slope(x), accumulator.jvp(z)]) == [32.0, 32.0, 32.0]


def test_against_the_jacobian():
    matrix = np.random.default_rng(0).normal(size=(4, 3))
    x, along = tf.constant([0.5, -1.0, 2.0], tf.float64), tf.constant([1.0, 2.0, -0.5], tf.float64)

    def f(x):
        return tf.nn.softmax(tf.linalg.matvec(tf.constant(matrix), tf.sin(x))) * tf.sqrt(tf.reduce_sum(x * x))

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    expected = tf.linalg.matvec(tape.jacobian(y, x), along)
    with Accumulator(x, along) as accumulator:
        y = f(x)
    np.testing.assert_allclose(accumulator.jvp(y), expected, 1e-12)


def test_rows_of_a_gather():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with Accumulator(table, tf.ones([3, 2])) as accumulator:
        y = tf.gather(table, [2, 0]) ** 2
    assert numbers(accumulator.jvp(y)) == [[10.0, 12.0], [2.0, 4.0]]


def until_values_stop(x, step):
    """A loop that looks at a value in each trip, so that eager code runs what pends there."""
    trips, y = tf.constant(0), x
    while trips < 6:
        y, trips = step(y), trips + 1
    return tf.reduce_sum(y)


@tf.custom_gradient
def fixed_point(x):
    """The z of z = x cos(z), roughly, with the gradient of the loop's limit."""

    def solve(z, step):
        trips = tf.constant(0)
        while trips < 6:
            z, trips = step(z), trips + 1
        return z

    z = solve(x, lambda z: tf.cos(z) * x)
    return z, lambda dy: tf.cos(z) * solve(dy, lambda w: dy - tf.sin(z) * x * w)


@pytest.mark.parametrize(
    "product",
    [
        lambda x, t: tf.autodiff.jvp(lambda x: until_values_stop(x, lambda y: tf.sin(y) * x), (x,), (t,))[1],
        lambda x, t: tf.autodiff.linearize(lambda x: until_values_stop(x, lambda y: tf.cos(y) * x), x)[1](t),
        lambda x, t: tf.autodiff.gauss_newton_vp(
            lambda x: tf.stack([until_values_stop(x, lambda y: y * tf.tanh(x))]), (x,), (t,)
        ),
        lambda x, t: tf.autodiff.hvp(lambda x: until_values_stop(x, lambda y: y * tf.exp(-x)), (x,), (t,)),
        lambda x, t: tf.autodiff.hvp(lambda x: tf.reduce_sum(fixed_point(x) ** 2), (x,), (t,)),
    ],
    ids=["jvp", "linearize", "gauss_newton_vp", "hvp", "hvp of a fixed point"],
)
def test_first_product_through_code_that_looks_at_values(product):
    """The record was cut where a value was asked for, and the constants of its earlier part pend until then."""
    x, t = tf.constant([0.3, 0.7, 1.1]), tf.constant([1.0, -1.0, 0.5])
    first = tf.nest.map_structure(lambda d: d.numpy(), product(x, t))
    again = tf.nest.map_structure(lambda d: d.numpy(), product(x, t))
    whole = tf.nest.map_structure(lambda d: d.numpy(), tf.function(product)(x, t))
    np.testing.assert_allclose(first, again, 1e-6)
    np.testing.assert_allclose(first, whole, 1e-5)


def test_first_product_after_a_tape():
    x = tf.constant([0.0, 1.0, 2.0])

    def f(x):
        return tf.reduce_sum(x**3 * x[1] if x[0] >= 0 else -x)

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    tape.gradient(y, x)
    with Accumulator(x, tf.ones_like(x)) as accumulator:
        y = f(x)
    assert accumulator.jvp(y).numpy() == 24.0


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda x: Accumulator([x, x], [tf.ones([]), tf.ones([])]), ValueError, "was specified as a primal multiple times"),
        (lambda x: Accumulator(x, tf.constant(1)), ValueError, "requested dtype float32 for Tensor with dtype int32"),
        (lambda x: Accumulator(x, tf.ones([2])), ValueError, r"tangent of shape \(2,\) for a primal of shape \(\)"),
        (lambda x: Accumulator([x], [x, x]), ValueError, "don't have the same nested structure"),
        (lambda x: Accumulator(x, x).jvp("x"), TypeError, "takes tensors and variables, received 'x'"),
        (lambda x: Accumulator(x.numpy(), x), TypeError, "A primal is a tensor or variable, received .* of type float32"),
    ],
)
def test_bad_calls(make, error, message):
    with pytest.raises(error, match=message):
        make(tf.constant(1.0))


def test_entering_twice():
    accumulator = Accumulator(tf.constant(1.0), tf.constant(1.0))
    with accumulator, pytest.raises(ValueError, match="Accumulator is already recording"), accumulator:
        pass


def test_through_a_python_function():
    x = tf.constant([1.0, 2.0])
    for call in (
        lambda: tf.py_function(lambda q: q**3 * x, [x], tf.float32),
        lambda: tf.py_function(lambda q: q**3, [x], tf.float32) * x,
    ):
        with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 3.0])) as accumulator:
            y = call()
    np.testing.assert_allclose(accumulator.jvp(y), [4.0, 96.0])
