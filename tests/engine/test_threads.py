"""Threads that share variables: no update is lost, and a reader sees a value as it was between two updates."""

import sys
import threading

import numpy as np
import pytest

import gradtape as tf

THREADS, TIMES = 8, 40


@pytest.fixture(autouse=True)
def switching_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(call, threads=THREADS, times=TIMES):
    """Call it so many times in so many threads; raise what one of them raised."""
    failed = []

    def repeat():
        try:
            for _ in range(times):
                call()
        except BaseException as error:
            failed.append(error)

    started = [threading.Thread(target=repeat) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if failed:
        raise failed[0]


@tf.function
def counted(v):
    v.assign_add(1.0)
    return v * 2.0


@tf.function
def counted_and_random(v):
    v.assign_add(1.0)
    return v + tf.random.uniform([])


def under_a_tape(v):
    with tf.GradientTape() as tape:
        y = counted(v)
    return tape.gradient(y, v)


UPDATES = {
    "assign_add": lambda v: v.assign_add(1.0),
    "assign_sub": lambda v: v.assign_sub(-1.0),
    "in a function": counted,
    "in a function that draws": counted_and_random,
    "under a tape": under_a_tape,
}


@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
def test_no_update_is_lost(update):
    v = tf.Variable(0.0)
    in_threads(lambda: update(v))
    assert v.numpy() == THREADS * TIMES


def test_no_update_of_rows_is_lost():
    v = tf.Variable([0.0, 0.0])

    def update():
        v.scatter_add(tf.IndexedSlices([1.0], [0]))
        v.scatter_nd_add([[1]], [2.0])

    in_threads(update)
    assert v.numpy().tolist() == [THREADS * TIMES, 2.0 * THREADS * TIMES]


def test_updates_of_two_variables_in_a_function_come_together():
    v, w = tf.Variable(0.0), tf.Variable(0.0)

    @tf.function
    def both():
        w.assign(v + 1.0)
        v.assign_add(1.0)

    @tf.function
    def read():
        return tf.stack([v, w])

    seen = []
    in_threads(lambda: (both(), seen.append(read().numpy())))
    assert v.numpy() == w.numpy() == THREADS * TIMES
    assert all(a == b for a, b in seen)


def test_a_reader_sees_a_whole_value():
    v, seen = tf.Variable(np.zeros(1000, np.float32)), []

    def update_and_read():
        v.assign_add(tf.ones([1000]))
        seen.append(np.unique(v.numpy()).size)
        seen.append(np.unique((v * 2.0).numpy()).size)

    in_threads(update_and_read)
    assert set(seen) == {1}
    assert v.numpy()[0] == THREADS * TIMES


def test_what_pends_in_one_thread_is_computed_in_another():
    x = tf.Variable(1.0)
    chain = x * 1.0
    results = []
    for _ in range(40):
        chain = chain + 1.0
    in_threads(lambda: results.append((chain + x).numpy()), times=3)
    assert set(results) == {42.0}
    assert chain.numpy() == 41.0


def test_a_tape_keeps_what_another_thread_computes():
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
        z = tf.sin(y)
    in_threads(lambda: y.numpy(), times=1)
    np.testing.assert_allclose(tape.gradient(z, x), 6 * np.cos(9.0), rtol=1e-6)
    np.testing.assert_allclose(z.numpy(), np.sin(9.0), rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(z, x), 6 * np.cos(9.0), rtol=1e-6)
    assert y.node.inputs is None  # the past is freed once both threads' traces have run
