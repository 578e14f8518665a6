"""Tapes belong to their thread; threads may train at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gradtape as tf
from tests.agreement import agree


def in_another_thread(function):
    """The result of `function`, called in a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_an_op_of_another_thread_is_not_recorded():
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        elsewhere = in_another_thread(lambda: x * x)
        z = y + elsewhere
    agree([y, elsewhere, z], [9.0, 9.0, 18.0])
    assert tape.gradient(elsewhere, x) is None
    agree(tape.gradient(z, [x, elsewhere]), [6.0, None])


def test_a_variable_read_in_another_thread_is_not_watched():
    v = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = in_another_thread(lambda: v * v)
    agree(y, 9.0)
    assert tape.watched_variables() == ()


def test_a_tape_of_another_thread():
    x = tf.constant(3.0)

    def run():
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x**3
        return inner.gradient(y, x)

    with tf.GradientTape() as tape:
        tape.watch(x)
        dy_dx = in_another_thread(run)
        z = dy_dx * x
    agree(dy_dx, 27.0)
    agree(tape.gradient(z, x), 27.0)


def test_a_gradient_asked_for_in_another_thread():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x**3
    agree(in_another_thread(lambda: tape.gradient(y, x)), 27.0)


def test_a_tensor_made_in_another_thread_can_be_watched_here():
    x = in_another_thread(lambda: tf.constant(2.0) * 1.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    agree(tape.gradient(y, x), 6.0)


def test_stop_recording_concerns_its_own_thread():
    x = tf.constant(3.0)

    def run():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    with tf.GradientTape() as tape, tape.stop_recording():
        agree(in_another_thread(run), 6.0)


def train(seed, steps=8):
    """Fit a line to points of its own; the parameters and the losses."""
    rate = 0.1
    w = tf.Variable(float(seed))
    b = tf.Variable(0.0)
    x = tf.constant([-1.0, 0.0, 1.0, 2.0])
    wanted = tf.constant([1.0, 2.0, 3.0, 4.0]) * float(seed + 1)
    losses = []
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((w * x + b - wanted) ** 2)
        dw, db = tape.gradient(loss, [w, b])
        w.assign_sub(rate * dw)
        b.assign_sub(rate * db)
        losses.append(float(loss) if (step + seed) % 3 == 0 else loss)
    return float(w), float(b), [float(loss) for loss in losses]


def trained_by_hand(seed, steps=8):
    """What `train` gives, in NumPy."""
    w, b, rate = float(seed), 0.0, 0.1
    x = np.array([-1.0, 0.0, 1.0, 2.0])
    wanted = np.array([1.0, 2.0, 3.0, 4.0]) * (seed + 1)
    losses = []
    for _ in range(steps):
        error = w * x + b - wanted
        losses.append(np.mean(error**2))
        w, b = w - rate * 2 * np.mean(error * x), b - rate * 2 * np.mean(error)
    return w, b, losses


def test_sixteen_threads_train_at_once():
    start = threading.Barrier(16)

    def run(seed):
        start.wait()
        return train(seed)

    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(run, range(16)))
    for seed, (w, b, losses) in enumerate(results):
        expected_w, expected_b, expected_losses = trained_by_hand(seed)
        assert (w, b) == pytest.approx((expected_w, expected_b), rel=1e-4)
        assert losses == pytest.approx(expected_losses, rel=1e-4)


def test_threads_may_share_variables_that_they_only_read():
    w = tf.Variable([1.0, 2.0])

    def run(scale):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(w**2) * float(scale)
        return tape.gradient(y, w)

    with ThreadPoolExecutor(8) as pool:
        agree(list(pool.map(run, range(8))), [[2.0 * scale, 4.0 * scale] for scale in range(8)])


def test_values_handed_from_thread_to_thread():
    x = tf.Variable(1.0)
    y = x * 1.0
    for _ in range(4):
        y = in_another_thread(lambda y=y: y * 2.0)
    agree(y, 16.0)
