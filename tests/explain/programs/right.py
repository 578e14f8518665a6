"""Programs that are right: every source is connected."""

import threading

import numpy as np

import gradtape as tf


def a_variable():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = w * w
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_watched_constant():
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def an_array_that_is_watched():
    x = tf.convert_to_tensor(np.ones((2, 3), np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(x**2)
    return tape.gradient(y, x), tf.autodiff.explain(y, x)


def before_the_gradient_is_asked():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = w * w
    diagnosis = tf.autodiff.explain(loss, w, tape)
    return tape.gradient(loss, w), diagnosis


def an_intermediate_tensor():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        hidden = w * 3.0
        loss = hidden**2
    return tape.gradient(loss, [w, hidden]), tf.autodiff.explain(loss, [w, hidden])


def the_target_itself():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = w * w
    return tape.gradient(loss, loss), tf.autodiff.explain(loss, loss)


def a_frozen_variable_that_is_watched():
    w = tf.Variable(2.0, trainable=False)
    with tf.GradientTape() as tape:
        tape.watch(w)
        loss = w * w
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_persistent_tape():
    w = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as tape:
        first = w * w
        second = first * w
    gradients = [tape.gradient(first, w), tape.gradient(second, w)]
    return gradients, [tf.autodiff.explain(first, w, tape), tf.autodiff.explain(second, w, tape)]


def losses_added_inside():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        total = tf.add_n([w * w, w * 3.0]) / 2.0
    return tape.gradient(total, w), tf.autodiff.explain(total, w)


def the_second_derivative():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**3
        dy = inner.gradient(y, x)
    return outer.gradient(dy, x), tf.autodiff.explain(dy, x, outer)


def a_loss_that_is_printed():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = w * w
        float(loss)
        loss = loss * 2.0
    loss.numpy()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_training_loop():
    w = tf.Variable([1.0, 2.0])
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        dw = tape.gradient(loss, w)
        diagnosis = tf.autodiff.explain(loss, w)
        w.assign_sub(0.1 * dw)
    return dw, diagnosis


def assigned_while_the_tape_is_open():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = w * w
        w.assign(5.0)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_straight_through_rounding():
    x = tf.Variable([1.4, 2.6])
    with tf.GradientTape() as tape:
        rounded = x + tf.stop_gradient(tf.round(x) - x)
        loss = tf.reduce_sum(rounded**2)
    return tape.gradient(loss, x), tf.autodiff.explain(loss, x)


def one_of_two_ways_is_stopped():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = w * tf.stop_gradient(w)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_custom_gradient():
    @tf.custom_gradient
    def double(x):
        return x * 2.0, lambda dy: dy * 2.0

    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = double(w) ** 2
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def rows_of_a_table():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(table, [0, 0]))
    return tape.gradient(loss, table), tf.autodiff.explain(loss, table)


def a_python_function():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = tf.py_function(lambda x: x * x, [w], tf.float32)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_jax_function():
    w = tf.Variable(2.0)
    square = tf.jax_function(lambda x: x * x)
    with tf.GradientTape() as tape:
        loss = square(w.read_value())
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def the_branch_that_is_taken():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        loss = w * w if w > 0.0 else w * 3.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_function():
    w = tf.Variable(2.0)

    @tf.function
    def loss_of(x):
        return w * x

    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant(3.0))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def several_targets():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        targets = {"first": v * v, "second": [w * 2.0]}
    return tape.gradient(targets, [v, w]), tf.autodiff.explain(targets, [v, w])


def paused_for_a_metric():
    w = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * w)
        with tape.stop_recording():
            tf.reduce_mean(w).numpy()
        loss = loss * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def another_source_than_was_asked_for():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    with tf.GradientTape() as tape:
        loss = v * w
    gradient = tape.gradient(loss, v)
    return gradient, tf.autodiff.explain(loss, w)


def threads_with_tapes_of_their_own():
    w = tf.Variable(2.0)
    found = {}

    def work(factor):
        with tf.GradientTape() as tape:
            loss = w * factor
        found[factor] = loss, tape.gradient(loss, w)

    for factor in (3.0, 4.0):
        thread = threading.Thread(target=work, args=(factor,))
        thread.start()
        thread.join()
    loss, gradient = found[3.0]
    return gradient, tf.autodiff.explain(loss, w)
