"""Breaks inside of functions, seen from a tape outside, and tapes inside of functions."""

import contextlib

import numpy as np

import gradtape as tf


def stopped_in_a_function():
    w = tf.Variable(2.0)

    @tf.function
    def loss_of(x):
        frozen = tf.stop_gradient(w)  # <- stopped
        return frozen * x

    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant(3.0))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_helper_that_a_function_calls():
    w = tf.Variable([1.2, 2.7])

    def rounded(x):
        return tf.floor(x)  # <- not_differentiable

    @tf.function
    def loss_of():
        return tf.reduce_sum(rounded(w) * 2.0)

    with tf.GradientTape() as tape:
        loss = loss_of()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_cast_in_a_nested_function():
    w = tf.Variable([1.2, 2.7])

    @tf.function
    def whole(x):
        return tf.cast(x, tf.int32)  # <- not_floating

    @tf.function
    def loss_of():
        return tf.cast(tf.reduce_sum(whole(w)), tf.float32)

    with tf.GradientTape() as tape:
        loss = loss_of()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_threshold_in_a_function():
    w = tf.Variable([1.2, -2.7])

    @tf.function
    def loss_of(x):
        mask = w > x  # <- not_differentiable
        return tf.reduce_sum(tf.cast(mask, tf.float32))

    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant(0.0))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def an_argument_that_is_ignored():
    v, w = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def loss_of(a, b):
        return a * 2.0

    with tf.GradientTape() as tape:
        loss = loss_of(v.read_value(), w.read_value())  # <- unused
    return tape.gradient(loss, [v, w]), tf.autodiff.explain(loss, [v, w])


def state_in_a_function():
    w, held = tf.Variable(2.0), tf.Variable(0.0)

    @tf.function
    def loss_of():
        held.assign(w * 3.0)  # <- state
        return held * 2.0

    with tf.GradientTape() as tape:
        loss = loss_of()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def state_in_a_function_that_no_tape_saw():
    w, held = tf.Variable(2.0), tf.Variable(0.0)

    @tf.function
    def remember():
        held.assign(w * 3.0)  # <- state

    remember()
    with tf.GradientTape() as tape:
        loss = held * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_function_that_trains_is_no_way():
    v, w = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = v * v * w
        dv, dw = tape.gradient(loss, [v, w])
        v.assign_sub(0.1 * dv)
        w.assign_sub(0.1 * dw)

    @tf.function
    def steps():
        step()
        step()

    step()
    steps()
    with tf.GradientTape() as tape:
        loss = v * 2.0  # <- unused
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_numpy_function_in_a_function():
    w = tf.Variable([1.0, 4.0])

    @tf.function
    def loss_of():
        roots = tf.numpy_function(np.sqrt, [w], tf.float32)  # <- left_library
        return tf.reduce_sum(roots)

    with tf.GradientTape() as tape:
        loss = loss_of()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_function_called_outside_of_the_tape():
    w = tf.Variable(2.0)

    @tf.function
    def doubled(x):
        return x * 2.0

    with tf.GradientTape() as tape:
        part = w * w
    loss = doubled(part)  # <- outside_tape
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def stopped_in_a_branch():
    w = tf.Variable(2.0)

    @tf.function
    def loss_of(x):
        if x > 0.0:
            y = tf.stop_gradient(w) * x  # <- stopped
        else:
            y = x
        return y

    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant(3.0))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def rounded_in_a_loop():
    w = tf.Variable(2.5)

    @tf.function
    def loss_of(x):
        for _ in tf.range(3):
            x = x + tf.round(w)  # <- not_differentiable
        return x

    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant(3.0))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_tape_inside_of_a_function():
    w = tf.Variable(2.0)
    answers = []

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            target = tf.stop_gradient(w * x)  # <- stopped
            loss = target * 3.0
        answers.append((tape.gradient(loss, w), tf.autodiff.explain(loss, w)))
        return loss

    step(tf.constant(3.0))
    return answers[0]


def outside_of_a_tape_inside_of_a_function():
    w = tf.Variable(2.0)
    answers = []

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            part = w * x
        loss = part * 3.0  # <- outside_tape
        answers.append((tape.gradient(loss, w), tf.autodiff.explain(loss, w)))
        return loss

    step(tf.constant(3.0))
    return answers[0]


def an_argument_that_nobody_watched():
    answers = []

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = x * x  # <- not_watched
        answers.append((tape.gradient(loss, x), tf.autodiff.explain(loss, x)))
        return loss

    step(tf.constant(3.0))
    return answers[0]


def rounded_under_vectorized_map():
    w = tf.Variable(2.5)
    with tf.GradientTape() as tape:
        parts = tf.vectorized_map(lambda x: x * tf.round(w), tf.constant([1.0, 2.0]))  # <- not_differentiable
        loss = tf.reduce_sum(parts)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def state_with_random_numbers_that_no_tape_saw():
    w, noisy = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])

    @tf.function
    def update():
        noisy.assign(w + tf.random.normal([2]))  # <- state

    update()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(noisy**2)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_number_that_a_function_takes_from_outside():
    w = tf.Variable(3.0)

    @tf.function
    def scaled(x):
        return x * float(value)

    value = (w * 2.0).numpy()  # <- left_library
    with tf.GradientTape() as tape:
        y = scaled(tf.constant(2.0))
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def a_python_condition_in_a_function():
    w, use = tf.Variable(3.0), False

    @tf.function
    def doubled(x):
        if use:  # <- branch_not_taken
            x = x * w
        return x * 2.0

    with tf.GradientTape() as tape:
        y = doubled(tf.constant(2.0))
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def stopped_in_a_while_loop():
    w = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + tf.stop_gradient(w)), [0, 0.0])  # <- stopped
        loss = y * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def only_the_condition_of_a_loop():
    w = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        _, y = tf.while_loop(lambda i, y: i < w, lambda i, y: (i + 1.0, y * 2.0), [0.0, 1.0])  # <- not_differentiable
    return tape.gradient(y, w), tf.autodiff.explain(y, w)


def how_often_a_loop_runs():
    w = tf.Variable(2.7)

    @tf.function
    def steps():
        count = tf.cast(w, tf.int32)  # <- not_floating
        total = tf.constant(0.0)
        for _ in tf.range(count):
            total += 1.0
        return total

    with tf.GradientTape() as tape:
        loss = steps()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def until_a_loop_arrives():
    w = tf.Variable(2.7)

    @tf.function
    def steps():
        total = tf.constant(0.0)
        while total < w:  # <- not_differentiable
            total += 1.0
        return total

    with tf.GradientTape() as tape:
        loss = steps()
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def which_branch_runs():
    w = tf.Variable(2.7)

    @tf.function
    def level(x):
        if w > x:  # <- not_differentiable
            return x
        return x + 1.0

    with tf.GradientTape() as tape:
        loss = level(tf.constant(1.0))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def not_trainable_in_a_function():
    w = tf.Variable(2.0, trainable=False)

    @tf.function
    def loss_of(x):
        return w * x  # <- not_trainable

    with tf.GradientTape() as tape:
        loss = loss_of(tf.constant(3.0))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_tape_in_a_function_that_pauses():
    w = tf.Variable(2.0)
    answers = []

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            with tape.stop_recording():
                square = w * w  # <- recording_paused
            loss = square * 3.0
        answers.append((tape.gradient(loss, w), tf.autodiff.explain(loss, w)))

    step()
    return answers[0]


def a_tape_in_a_function_that_watches_late():
    x = tf.constant([1.0, 2.0])
    answers = []

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            square = x * x  # <- watched_late
            tape.watch(x)
            loss = tf.reduce_sum(square)
        answers.append((tape.gradient(loss, x), tf.autodiff.explain(loss, x)))

    step()
    return answers[0]


def two_tapes_in_a_function():
    w = tf.Variable(2.0)
    answers = []

    @tf.function
    def step():
        with tf.GradientTape() as inner:
            square = w * w
        slope = inner.gradient(square, w)  # <- other_tape
        with tf.GradientTape() as outer:
            loss = slope * 2.0
        answers.append((outer.gradient(loss, w), tf.autodiff.explain(loss, w)))

    step()
    return answers[0]


def a_call_while_the_tape_pauses():
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def double():
        return w * 2.0

    with tf.GradientTape() as tape:
        with tape.stop_recording():
            doubled = double()  # <- recording_paused
        loss = tf.reduce_sum(doubled)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_call_before_the_watch():
    x = tf.constant([1.0, 2.0])

    @tf.function
    def double(x):
        return x * 2.0

    with tf.GradientTape() as tape:
        doubled = double(x)  # <- watched_late
        tape.watch(x)
        loss = tf.reduce_sum(doubled)
    return tape.gradient(loss, x), tf.autodiff.explain(loss, x)


def a_call_under_another_tape():
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def double(x):
        return x * 2.0

    with tf.GradientTape():
        doubled = double(w)  # <- other_tape
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(doubled)
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def a_tape_in_a_function_that_is_used_up():
    w = tf.Variable([1.0, 2.0])
    answers = []

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w * w)
        tape.gradient(loss, w)  # <- tape_used
        with contextlib.suppress(RuntimeError):
            tape.gradient(loss, w)
        answers.append((None, tf.autodiff.explain(loss, w)))

    step()
    return answers[0]


def rounded_and_computed_again():
    w = tf.Variable([1.0, 2.0])

    def block(x):
        rounded = tf.round(x * w)  # <- not_differentiable
        return tf.reduce_sum(rounded)

    with tf.GradientTape() as tape:
        loss = tf.recompute_grad(block)(tf.constant([1.0, 3.0])) * 2.0
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def computed_again_without_an_argument():
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    block = tf.recompute_grad(lambda x, y: x * x)
    with tf.GradientTape() as tape:
        loss = block(a, b)  # <- unused
    return tape.gradient(loss, [a, b]), tf.autodiff.explain(loss, [a, b])


def stopped_and_computed_again_by_a_policy():
    w = tf.Variable([1.0, 2.0])

    def block(x):
        frozen = tf.stop_gradient(w * x)  # <- stopped
        return tf.exp(frozen) + x

    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.autodiff.recompute_grad(block, policy=["Exp"])(tf.constant([1.0, 3.0])))
    return tape.gradient(loss, w), tf.autodiff.explain(loss, w)


def mapped_to_integers_beside_a_constant():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        counts = tf.map_fn(lambda row: tf.cast(row * 2.0, tf.int32), x, fn_output_signature=tf.int32)  # <- not_floating
        loss = tf.reduce_sum(tf.cast(counts, tf.float32))
    return tape.gradient(loss, x), tf.autodiff.explain(loss, x)
