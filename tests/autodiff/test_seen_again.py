"""The same lines run again with one thing changed: each round gets its own gradient, not that of a round before."""

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree

X = np.array([1.0, 2.0, 3.0], np.float32)


def rounds(choices):
    """Each choice, and each again after others."""
    return [*choices, *choices[::-1], choices[0]]


@pytest.mark.parametrize(
    "function, choices, derivative",
    [
        pytest.param(lambda x, p: x * p, [1.0, 2.0, 0.0, -1.0], lambda p: p * np.ones(3), id="factor"),
        pytest.param(lambda x, p: p * x**2, [1, 3, 0.5, True], lambda p: 2 * p * X, id="factor_of_other_types"),
        pytest.param(lambda x, p: x / p, [1.0, 2.0, 4.0], lambda p: np.ones(3) / p, id="divisor"),
        pytest.param(lambda x, p: p / x, [1.0, 2.0, 0.0], lambda p: -p / X**2, id="dividend"),
        pytest.param(lambda x, p: (x + p) ** 2, [1.0, 0.0, -1.0, 5], lambda p: 2 * (X + p), id="summand"),
        pytest.param(lambda x, p: (p - x) ** 2, [1.0, 0.0, -1.0, 5], lambda p: 2 * (X - p), id="minuend"),
        pytest.param(lambda x, p: x**p, [2, 3, 1, 2.0, 0.5], lambda p: p * X ** (p - 1), id="exponent"),
        pytest.param(lambda x, p: p**x, [2.0, 3.0, 1.0], lambda p: np.log(p) * p**X, id="base"),
        pytest.param(lambda x, p: x % p, [2.0, 5.0, 1.5], lambda p: np.ones(3), id="modulus"),
        pytest.param(
            lambda x, p: x * p[0] + x * x * p[1],
            [(2.0, 2.0), (2.0, 3.0), (3.0, 2.0)],
            lambda p: p[0] + 2 * p[1] * X,
            id="two_numbers_that_were_equal",
        ),
        pytest.param(lambda x, p: x * p, [np.array([1.0, 2.0, 3.0]), np.ones(3), np.zeros(3)], lambda p: p, id="array"),
        pytest.param(lambda x, p: x * p, [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], np.array, id="list"),
        pytest.param(lambda x, p: x * tf.constant(p), [1.0, 2.0, [1.0, 2.0, 3.0]], lambda p: p * np.ones(3), id="constant"),
        pytest.param(lambda x, p: x[p] * 2.0, [0, 1, 2, -1], lambda p: 2 * np.eye(3)[p], id="index"),
        pytest.param(lambda x, p: x[p:], [0, 1, 2, -1], lambda p: np.where(np.arange(3) >= p % 3, 1, 0), id="slice"),
        pytest.param(lambda x, p: x[::p], [1, 2, 3, -1], lambda p: np.where(np.arange(3) % p == 0, 1, 0), id="stride"),
        pytest.param(
            lambda x, p: tf.gather(x * 1.0, p),
            [0, 2, [0, 0, 1]],
            lambda p: np.bincount(np.atleast_1d(p), minlength=3),
            id="gather",
        ),
        pytest.param(lambda x, p: tf.roll(x, p, 0) * X, [0, 1, 2], lambda p: np.roll(X, -p), id="roll"),
        pytest.param(lambda x, p: tf.clip_by_value(x, p, 2.5), [0.0, 1.5, 2.2], lambda p: (p <= X) & (X <= 2.5), id="bound"),
        pytest.param(
            lambda x, p: tf.where(p, x, 2.0 * x),
            [[True, False, True], [False, False, True]],
            lambda p: np.where(p, 1, 2),
            id="condition",
        ),
        pytest.param(
            lambda x, p: tf.where(x > p, x, 5.0 * x),
            [0.0, 1.5, 2.5, 9.0],
            lambda p: np.where(p < X, 1, 5),
            id="threshold",
        ),
        pytest.param(lambda x, p: tf.maximum(x, p), [0.0, 1.5, 2.5, 9.0], lambda p: p <= X, id="maximum"),
        pytest.param(
            lambda x, p: tf.clip_by_norm(x, p) * [1.0, 0.0, 0.0],
            [1.0, 2.0, 100.0],
            lambda p: np.eye(3)[0] if p > 4 else p * (np.eye(3)[0] / 14**0.5 - X / 14**1.5),
            id="norm",
        ),
        pytest.param(
            lambda x, p: tf.reduce_sum(tf.reshape(x, [1, 3]) ** 2, axis=p) ** 2,
            [0, 1],
            lambda p: 4 * X**3 if p == 0 else 4 * X * 14,
            id="axis",
        ),
        pytest.param(lambda x, p: tf.one_hot(p, 3) * x, [0, 1, 2], lambda p: np.eye(3)[p], id="one_hot"),
        pytest.param(lambda x, p: tf.fill([3], p) * x, [0.0, 1.0, 2.0], lambda p: p * np.ones(3), id="fill"),
        pytest.param(lambda x, p: tf.tile(x, [p]), [1, 2, 3], lambda p: p * np.ones(3), id="repetitions"),
        pytest.param(
            lambda x, p: tf.cast(tf.cast(x, p), tf.float32) * 2.0,
            ["float64", "float16"],
            lambda p: 2 * np.ones(3),
            id="dtype",
        ),
        pytest.param(lambda x, p: x if p else x * 3.0, [True, False], lambda p: np.ones(3) if p else 3 * np.ones(3), id="branch"),
        pytest.param(lambda x, p: [x] * p, [1, 2, 3], lambda p: p * np.ones(3), id="number_of_targets"),
        pytest.param(lambda x, p: x * p if p else x * 0.0, [1.0, 2.0, 0.0], lambda p: p * np.ones(3), id="zero"),
    ],
)
def test_one_thing_changes(function, choices, derivative):
    x = tf.Variable(X)
    for choice in rounds(choices):
        with tf.GradientTape() as tape:
            y = function(x, choice)
        agree(tape.gradient(y, x), derivative(choice))


@pytest.mark.parametrize("order", [1, 2])
def test_the_number_in_the_derivative_of_an_order(order):
    x = tf.Variable(2.0)
    for p in rounds([1.0, 3.0, 0.0]):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = p * x**3
            dy_dx = inner.gradient(y, x)
        agree(dy_dx, 12.0 * p) if order == 1 else agree(outer.gradient(dy_dx, x), 12.0 * p)


@pytest.mark.parametrize("method", ["jacobian", "batch_jacobian"])
def test_the_number_in_a_jacobian(method):
    x = tf.Variable([[1.0, 2.0]])
    for p in rounds([1.0, 3.0, 0.0]):
        with tf.GradientTape() as tape:
            y = p * x**2
        jacobian = getattr(tape, method)(y, x)
        agree(tf.reshape(jacobian, [2, 2]), [[2.0 * p, 0.0], [0.0, 4.0 * p]])


def test_the_number_outside_of_the_tape():
    x = tf.Variable(X)
    for p in rounds([1.0, 3.0, 0.0]):
        before = tf.constant(1.0) * p
        with tf.GradientTape() as tape:
            y = before * x
        agree(tape.gradient(y, x) * p, p * p * np.ones(3))


def test_the_number_in_a_custom_gradient():
    x = tf.Variable(X)
    for p in rounds([1.0, 3.0, 0.0]):

        @tf.custom_gradient
        def scaled(x, p=p):
            return x * 1.0, lambda dy: dy * p

        with tf.GradientTape() as tape:
            y = scaled(x)
        agree(tape.gradient(y, x), p * np.ones(3))


@pytest.mark.parametrize("wrap", [lambda function: function, tf.recompute_grad])
def test_the_number_in_a_wrapped_function(wrap):
    x = tf.Variable(X)
    wrapped = wrap(lambda x, p: x**2 * p)
    for p in rounds([1.0, 3.0, 0.0]):
        with tf.GradientTape() as tape:
            y = wrapped(x, p)
        agree(tape.gradient(y, x), 2 * p * X)


def test_the_output_gradient_changes():
    x = tf.Variable(X)
    for given in rounds([None, 1.0, 3.0, 0.0, [1.0, 2.0, 3.0]]):
        with tf.GradientTape() as tape:
            y = x * 2.0
        seed = None if given is None else tf.constant(given) * tf.ones([3])
        agree(tape.gradient(y, x, output_gradients=seed), 2.0 * np.ones(3) * (1.0 if given is None else given))


def test_other_sources():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    for sources, expected in rounds([([v], [3.0]), ([w], [2.0]), ([w, v], [2.0, 3.0]), ([v, v], [3.0, 3.0]), ([], [])]):
        with tf.GradientTape() as tape:
            y = v * w
        agree(tape.gradient(y, sources), expected)


def test_other_targets():
    v = tf.Variable(3.0)
    for choose, expected in rounds([("y", 6.0), ("z", 27.0), ("yz", 33.0), ("yy", 12.0), ("v", 1.0)]):
        with tf.GradientTape() as tape:
            values = {"v": v, "y": v**2, "z": v**3}
        agree(tape.gradient([values[name] for name in choose], v), expected)


def test_other_tensors_are_watched():
    x, z = tf.constant(2.0), tf.constant(3.0)
    for watched, expected in rounds([([x], [3.0, None]), ([z], [None, 2.0]), ([x, z], [3.0, 2.0]), ([], [None, None])]):
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y = x * z
        agree(tape.gradient(y, [x, z]), expected)


def test_watched_at_another_time():
    x = tf.constant(2.0)
    for early, expected in rounds([(True, 12.0), (False, 4.0)]):
        with tf.GradientTape() as tape:
            if early:
                tape.watch(x)
            y = x * x
            tape.watch(x)
            z = y * x
        agree(tape.gradient(z, x), expected)


def test_one_variable_in_two_places_or_two():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    pairs = [((v, v), [4.0, None]), ((v, w), [3.0, 2.0]), ((w, v), [3.0, 2.0]), ((w, w), [None, 6.0])]
    for (a, b), expected in rounds(pairs):
        with tf.GradientTape() as tape:
            y = a * b
        agree(tape.gradient(y, [v, w]), expected)


def test_one_constant_in_two_places_or_two():
    x, z = tf.constant(2.0), tf.constant(2.0)
    for (a, b), expected in rounds([((x, x), 4.0), ((x, z), 2.0), ((z, x), 2.0), ((z, z), None)]):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = a * b
        agree(tape.gradient(y, x), expected)


def test_the_variable_is_trainable_or_not():
    for trainable, expected in rounds([(True, 4.0), (False, None)]):
        v = tf.Variable(2.0, trainable=trainable)
        with tf.GradientTape() as tape:
            y = v * v
        agree(tape.gradient(y, v), expected)


def test_unconnected_gradients_change():
    v, w = tf.Variable(2.0), tf.Variable([3.0])
    for unconnected, expected in rounds([("none", [4.0, None]), ("zero", [4.0, [0.0]])]):
        with tf.GradientTape() as tape:
            y = v * v
        agree(tape.gradient(y, [v, w], unconnected_gradients=unconnected), expected)


@pytest.mark.parametrize("persistent", [True, False])
def test_other_shapes_and_dtypes(persistent):
    for shape, dtype in rounds([((), "float32"), ((2,), "float32"), ((2, 2), "float64"), ((0,), "float32")]):
        x = tf.ones(shape, dtype)
        with tf.GradientTape(persistent) as tape:
            tape.watch(x)
            y = x**2
        gradient = tape.gradient(y, x)
        assert gradient.dtype == tf.as_dtype(dtype)
        agree(gradient, 2 * np.ones(shape))


def test_the_value_of_a_variable_changes():
    v = tf.Variable(X)
    for p in rounds([1.0, 3.0, 0.0]):
        v.assign(X * p)
        with tf.GradientTape() as tape:
            y = v**2
        agree(tape.gradient(y, v), 2 * p * X)


def test_the_length_of_a_loop_changes():
    x = tf.Variable(1.0)
    for trips in rounds([0, 1, 2, 5]):
        with tf.GradientTape() as tape:
            y = x
            for _ in range(trips):
                y = y * 2.0
        agree(tape.gradient(y, x), 2.0**trips)


def test_infinity_and_nan():
    x = tf.Variable([1.0])
    for p in rounds([0.0, np.nan, np.inf, -np.inf]):
        with tf.GradientTape() as tape:
            y = x * p
        agree(tape.gradient(y, x), [p])


@pytest.mark.better  # TensorFlow takes the one for the other
def test_a_zero_keeps_its_sign():
    x = tf.Variable(1.0)
    for p in rounds([0.0, -0.0]):
        with tf.GradientTape() as tape:
            y = x * p
        assert np.signbit(tape.gradient(y, x)) == np.signbit(p)


def test_watched_after_an_op_that_is_on_the_tape_for_anothers_sake():
    x, v = tf.constant(3.0), tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        square = x * x
        product = square * v * x
        tape.watch(x)
        total = product + x
    agree(tape.gradient(square, x), None)
    agree(tape.gradient(product, [x, v]), [18.0, 27.0])
    agree(tape.gradient(total, [x, v, square]), [19.0, 27.0, None])
