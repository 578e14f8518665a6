"""Tapes inside of functions that are right."""

import gradtape as tf


def a_step():
    w, b = tf.Variable([[1.0], [2.0]]), tf.Variable([0.0])

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w + b - y) ** 2)
        grads = tape.gradient(loss, [w, b])
        w.assign_sub(0.1 * grads[0])
        b.assign_sub(0.1 * grads[1])
        return loss, grads

    for _ in range(3):
        loss, grads = step(tf.ones([3, 2]), tf.ones([3, 1]))
    return grads, tf.autodiff.explain(loss, [w, b])


def a_metric_is_returned():
    w = tf.Variable(2.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = w * x
        dw = tape.gradient(loss, w)
        return {"loss": loss / 10.0, "size": tf.abs(dw), "gradient": dw}

    results = step(tf.constant(2.0))
    return results["gradient"], tf.autodiff.explain(results["loss"], w)


def an_argument_that_is_watched():
    x = tf.constant(3.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return y, tape.gradient(y, x)

    y, dx = step(x)
    return dx, tf.autodiff.explain(y, x)


def a_tape_outside_and_one_inside():
    w = tf.Variable(2.0)

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            y = w * w * w * x
        return tape.gradient(y, w)

    with tf.GradientTape() as tape:
        dw = slope(tf.constant(2.0))
    return tape.gradient(dw, w), tf.autodiff.explain(dw, w)


def a_function_in_a_function():
    w = tf.Variable(2.0)

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            loss = w * w * x
        return loss, tape.gradient(loss, w)

    @tf.function
    def step(x):
        loss, dw = gradients(x)
        return loss, dw

    gradients(tf.constant(3.0))
    loss, dw = step(tf.constant(3.0))
    return dw, tf.autodiff.explain(loss, w)


def two_losses():
    v, w = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as first, tf.GradientTape() as second:
            made = v * x
            judged = w * made
        return made, judged, first.gradient(made, [v]), second.gradient(judged, [w])

    made, judged, (dv,), (dw,) = step(tf.constant(1.0))
    return [dv, dw], [tf.autodiff.explain(made, v), tf.autodiff.explain(judged, w)]


def a_penalty_under_a_tape():
    w, x = tf.Variable(2.0), tf.constant(3.0)

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = w * x * x
        return tape.gradient(y, x)

    with tf.GradientTape(persistent=True) as tape:
        penalty = slope(x)
        loss = penalty * penalty
    return tape.gradient(loss, w), tf.autodiff.explain(penalty, w)
