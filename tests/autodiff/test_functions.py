"""Gradients of functions: what was not taken, not used or stopped. Eager code says `None` where a function says zeros."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


def cond(i, v0, v1):
    return tf.cond(i > 0, lambda: v0 * 2.0, lambda: v1 * v1)


def switch_case(i, v0, v1):
    return tf.switch_case(1 - i, [lambda: v0 * 2.0, lambda: v1 * v1])


def case(i, v0, v1):
    return tf.case([(i > 0, lambda: v0 * 2.0)], default=lambda: v1 * v1)


@pytest.mark.parametrize("choose", [cond, switch_case, case])
@pytest.mark.parametrize("as_function, absent", [(False, None), (True, 0.0)], ids=["eager", "function"])
def test_a_branch_that_is_not_taken(choose, as_function, absent):
    v0, v1 = tf.Variable(2.0), tf.Variable(3.0)
    run = tf.function(choose) if as_function else choose
    gradients = []
    for i in (1, 0):
        with tf.GradientTape() as tape:
            y = run(tf.constant(i), v0, v1)
        gradients.append(tape.gradient(y, [v0, v1]))
    agree(gradients, [[2.0, absent], [absent, 6.0]])


def test_a_result_that_is_given_twice():
    """Both cotangents reach it, in the gradient of a call and of a call within one."""
    x = tf.constant(3.0)

    @tf.function
    def twice(x):
        y = x * x
        return y, y

    def weighted(x):
        first, second = twice(x)
        return 2.0 * first + 5.0 * second

    for run in (weighted, tf.function(weighted)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = run(x)
        assert tape.gradient(y, x).numpy() == 42.0


def test_an_argument_that_only_another_result_of_a_branch_has():
    """It has zeros, as in TensorFlow."""

    @tf.function
    def slopes(condition, x, y):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            first, _ = tf.cond(condition, lambda: (x * 2.0, y * 3.0), lambda: (x, y))
        return tape.gradient(first, [x, y])

    agree(slopes(tf.constant(True), tf.constant(3.0), tf.constant(4.0)), [2.0, 0.0])


def test_an_if_that_is_not_taken():
    v0, v1 = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def choose(i):
        if i > 0:
            y = v0 * 2.0
        else:
            y = v1 * v1
        return y

    with tf.GradientTape() as tape:
        y = choose(tf.constant(1))
    agree(tape.gradient(y, [v0, v1]), [2.0, 0.0])


@pytest.mark.parametrize("as_function, absent", [(False, None), (True, 0.0)], ids=["eager", "function"])
def test_a_loop_of_no_trips(as_function, absent):
    v0, v1 = tf.Variable(2.0), tf.Variable(3.0)

    def power(n):
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * v1), (tf.constant(0), v0 * 1.0))[1]

    run = tf.function(power) if as_function else power
    gradients = []
    for n in (0, 1):
        with tf.GradientTape() as tape:
            y = run(tf.constant(n))
        gradients.append(tape.gradient(y, [v0, v1]))
    agree(gradients, [[1.0, absent], [3.0, 2.0]])


def test_an_argument_that_a_function_ignores():
    x, ignored = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, ignored])
        y = tf.function(lambda x, ignored: x * 2.0)(x, ignored)
    agree(tape.gradient(y, [x, ignored]), [2.0, None])


@pytest.mark.parametrize("output, gradients", [(0, [3.0, 2.0]), (1, [0.0, 0.0]), (2, [0.0, 0.0])])
def test_an_output_without_a_gradient_beside_one_that_has_it(output, gradients):
    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        results = tf.function(lambda x, y: (x * y, tf.stop_gradient(y), tf.constant(7.0)))(x, y)
    agree(tape.gradient(results[output], [x, y]), gradients)


@pytest.mark.parametrize(
    "function",
    [
        lambda y: tf.stop_gradient(y),
        lambda y: tf.floor(y),
        lambda y: tf.cast(tf.cast(y, tf.int32), tf.float32),
        lambda y: tf.cast(y, tf.int32),
        lambda y: tf.constant(7.0),
    ],
    ids=["stop_gradient", "floor", "through integers", "integer", "constant"],
)
def test_the_only_output_has_no_gradient(function):
    y = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(y)
        result = tf.function(function)(y)
    assert tape.gradient(result, y) is None


@pytest.mark.better
@pytest.mark.parametrize("x, y", [(3.0, 9.0), (1.5, 15.0), (0.5, -0.5)])
def test_elif_returns_and_code_behind_it_too(x, y):
    @tf.function
    def pieces(x):
        if x > 2.0:
            return x * x
        elif x > 1.0:
            return x * 10.0
        return -x

    agree(pieces(tf.constant(x)), y)


def test_a_path_without_a_return():
    @tf.function
    def pieces(x):
        if x > 2.0:
            return x * x
        elif x > 1.0:
            return x * 10.0

    with pytest.raises(ValueError, match="the else branch must also have a return statement"):
        pieces(tf.constant(3.0))


@pytest.mark.better
def test_a_loop_that_may_end_without_a_return():
    @tf.function
    def first_large(x):
        for value in x:
            if value > 2.0:
                return value

    with pytest.raises(ValueError, match="Put a `return` at the end of the function"):
        first_large(tf.constant([1.0, 3.0]))


@pytest.mark.better
def test_a_path_without_a_return_where_the_others_return_nothing():
    v = tf.Variable(0.0)

    @tf.function
    def update(x):
        if x > 0.0:
            v.assign(1.0)
            return
        v.assign(2.0)

    for x, value in ((3.0, 1.0), (-3.0, 2.0)):
        assert update(tf.constant(x)) is None
        agree(v, value)


@pytest.mark.parametrize(
    "function, value",
    [
        (lambda n: tf.range(n), [0, 1, 2]),
        (lambda n: tf.range(n) * 2, [0, 2, 4]),
        (lambda n: n + tf.range(n), [3, 4, 5]),
        (lambda n: tf.reduce_sum(tf.range(n)), 3),
        (lambda n: tf.range(n)[1:], [1, 2]),
        (lambda n: tf.map_fn(lambda i: i * i, tf.range(n)), [0, 1, 4]),
    ],
    ids=["result", "left", "right", "argument", "indexed", "mapped"],
)
def test_a_range_whose_length_depends_on_values(function, value):
    agree(tf.function(function)(tf.constant(3)), value)


def test_a_function_makes_variables_at_its_first_call_under_a_tape():
    class Scaled:
        first = second = None

        def __call__(self, x):
            if self.first is None:
                with tf.init_scope():
                    self.first, self.second = tf.Variable(tf.ones(3) * 2.0), tf.Variable(tf.ones(3) * 3.0)
            return x * self.first * self.second

    scaled, w = Scaled(), tf.Variable(2.0)
    call = tf.function(lambda x: scaled(x))
    with tf.GradientTape() as tape:
        y = call(w * 3.0) * w
    dw, first, second = tape.gradient(y, [w, scaled.first, scaled.second])
    assert dw.numpy() == 216.0
    np.testing.assert_array_equal(first, [36.0, 36.0, 36.0])
    np.testing.assert_array_equal(second, [24.0, 24.0, 24.0])


def test_a_function_looks_at_a_value_from_outside_that_pends_while_its_tape_records():
    scale = tf.constant(2.0) * 3.0

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * scale.numpy()
        return tape.gradient(y, x)

    assert gradient(tf.constant(5.0)).numpy() == 60.0


def test_a_tape_goes_on_behind_a_function_that_looked_at_a_pending_value():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        scale = w * 3.0
        y = tf.function(lambda x: x * scale.numpy())(w) * w
    assert tape.gradient(y, w).numpy() == 24.0
