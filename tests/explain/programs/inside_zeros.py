"""Tapes inside of functions, asked from outside: gradients of zeros."""

import gradtape as tf


def dead_units():
    w, b = tf.Variable([[-1.0], [-2.0]]), tf.Variable([0.5])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(x @ w)  # <- dead_relu
            loss = tf.reduce_mean(hidden + b)
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.ones([3, 2]))
    return dw, tf.autodiff.explain(loss, w)


def a_saturated_unit():
    w = tf.Variable(200.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            p = tf.sigmoid(w * x)  # <- saturated
            loss = (1.0 - p) * 3.0
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain(loss, w)


def a_value_that_is_clipped():
    w = tf.Variable([5.0, -5.0])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            clipped = tf.clip_by_value(w, -1.0, 1.0)  # <- clipped
            loss = tf.reduce_sum(clipped)
        return loss, tape.gradient(loss, w)

    loss, dw = step()
    return dw, tf.autodiff.explain(loss, w)


def an_argument_that_is_masked():
    x = tf.constant([1.0, 2.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            mask = tf.cast(x > 3.0, tf.float32)
            loss = tf.reduce_sum(x * mask)  # <- masked_out
        return loss, tape.gradient(loss, x)

    loss, dx = step(x)
    return dx, tf.autodiff.explain(loss, x)
