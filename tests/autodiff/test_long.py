"""Long records: what is compiled and planned does not grow with them, and the results are those of short ones."""

import contextlib
from unittest import mock

import numpy as np
import pytest

import gradtape as tf
from gradtape._src.autodiff import pieces


@contextlib.contextmanager
def length(nodes):
    """Differentiate records piece by piece from so many nodes on."""
    with mock.patch.object(pieces, "LONG", nodes):
        yield


def chain(steps, x):
    for _ in range(steps):
        x = tf.sin(x) * 1.01
    return x


def test_a_longer_chain_compiles_nothing_more():
    x = tf.Variable(0.5)
    tf.config.clear_cache()
    counts, runs = [], []
    with length(1000):
        for steps in (750, 750, 1500, 3000):
            before = tf.config.cache_info()
            with tf.GradientTape() as tape:
                y = chain(steps, x)
            value, slope = float(y), float(tape.gradient(y, x))
            after = tf.config.cache_info()
            counts.append(sum(after[k] - before[k] for k in ("programs", "kernels", "plans")))
            runs.append(after["runs"] - before["runs"])
            expected, derivative = 0.5, 1.0
            for _ in range(steps):
                derivative *= 1.01 * np.cos(expected)
                expected = 1.01 * np.sin(expected)
            assert value == pytest.approx(expected, rel=1e-4)
            assert slope == pytest.approx(derivative, rel=1e-3, abs=1e-30)
    assert counts[2] <= 2
    assert counts[3] <= 2
    assert runs[3] < 2.2 * runs[2]
    assert runs[2] < 2.2 * runs[1]


def several(x, w, rows):
    """Variables in many places, a lookup, several outputs of one op, intermediate sources, a value read in the middle."""
    kept = []
    for i in range(60):
        first, second = tf.split(tf.tanh(x * w), 2)
        x = tf.concat([second * 1.1, first + tf.gather(rows, [i % 3, 0])], 0)
        if i % 20 == 7:
            kept.append(x)
            float(tf.reduce_sum(x))
    return x, kept


@pytest.mark.parametrize("persistent", [False, True])
def test_pieces_give_what_the_whole_gives(persistent):
    x, w = tf.constant([0.3, -0.2, 0.5, 0.1]), tf.Variable([1.1, 0.9, 1.0, 1.2])
    rows, unused = tf.Variable([0.1, 0.2, 0.3]), tf.Variable(1.0)

    def gradients():
        with tf.GradientTape(persistent=persistent) as tape:
            tape.watch(x)
            y, kept = several(x, w, rows)
            tape.watch(kept[1])
            z = tf.reduce_sum(y * y) + tf.reduce_sum(kept[2])
        results = tape.gradient([z, kept[0]], [x, w, rows, unused, *kept])
        assert results[3] is None
        assert isinstance(results[2], tf.IndexedSlices)
        return [tf.convert_to_tensor(r).numpy() for r in results if r is not None]

    whole = gradients()
    pieces.plans.clear()
    with length(100), mock.patch.object(pieces, "_plan", wraps=pieces._plan) as planned:
        in_pieces = gradients()
    assert planned.call_count > 1
    for one, other in zip(in_pieces, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_second_derivative_through_pieces():
    x = tf.Variable(0.5)

    def second():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = chain(200, x)
            slope = inner.gradient(y, x)
        return float(outer.gradient(slope, x))

    whole = second()
    with length(100):
        assert second() == pytest.approx(whole, rel=1e-4)


def test_a_pause_in_a_long_record():
    x = tf.Variable(0.5)

    def slope():
        with tf.GradientTape() as tape:
            y = chain(100, x)
            with tape.stop_recording():
                scale = chain(10, y)
            y = chain(100, y) * scale
        return float(tape.gradient(y, x))

    whole = slope()
    with length(100):
        assert slope() == pytest.approx(whole, rel=1e-4)


def test_a_gradient_of_the_users_in_a_long_record():
    @tf.custom_gradient
    def double(x):
        return x * 1.0, lambda upstream: upstream * 2.0

    x = tf.Variable(0.5)
    with length(100), tf.GradientTape() as tape:
        y = chain(200, double(x))
    with tf.GradientTape() as plain:
        z = chain(200, x * 1.0)
    assert float(tape.gradient(y, x)) == pytest.approx(2 * float(plain.gradient(z, x)), rel=1e-4)


def in_time(steps, w, state):
    """An unrolled recurrence: its record is cut into segments that are equal, but for the first and the last."""
    for _ in range(steps):
        state = tf.tanh(state * w[0] + tf.sigmoid(state) * w[1])
    return tf.reduce_sum(state * state)


def test_a_loop_that_goes_round_more_often_is_differentiated_by_what_is_known_of_it():
    w = [tf.Variable([0.5, 0.7]), tf.Variable([0.3, -0.2])]

    def gradients(steps):
        with tf.GradientTape() as tape:
            y = in_time(steps, w, tf.constant([1.0, 2.0]))
        return [g.numpy() for g in tape.gradient(y, w)]

    gradients(100), gradients(110)
    with mock.patch.object(tf.GradientTape, "_make_plan", autospec=True, side_effect=tf.GradientTape._make_plan) as whole:
        with mock.patch.object(pieces, "_plan", wraps=pieces._plan) as derived:
            in_pieces = gradients(121)
            gradients(132)
        assert (whole.call_count, derived.call_count <= 8) == (0, True)  # the first segments and the last
        for one, other in zip(in_pieces, gradients(121), strict=True):  # asked for again, it gets a Plan
            np.testing.assert_allclose(one, other, rtol=1e-5)
        assert whole.call_count == 1


def test_rows_keep_their_order_in_a_loop_that_goes_round_more_often():
    rows = tf.Variable([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])

    def gradient(steps):
        with tf.GradientTape() as tape:
            y = tf.constant([[1.0, 1.0]])
            for i in range(steps):
                y = tf.tanh(y + tf.gather(rows, [i % 3]) * 0.5)
        return tape.gradient(y, rows)

    gradient(100)
    with mock.patch.object(pieces, "_plan", wraps=pieces._plan) as derived:
        assert gradient(119).indices.numpy().tolist() == [i % 3 for i in range(118, -1, -1)]
    assert not derived.called
