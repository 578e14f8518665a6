"""Tapes inside of functions, asked from outside: gradients of NaN and infinity."""

import gradtape as tf


def a_logarithm_of_zero():
    w = tf.Variable([0.0, 1.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            logs = tf.math.log(w * x)  # <- inf_origin
            loss = tf.reduce_sum(logs)
        return loss, tape.gradient(loss, w)

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain_nan(loss, w)


def the_norm_at_zero():
    w = tf.Variable([0.0, 0.0])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.norm(w)  # <- nan_origin
        return loss, tape.gradient(loss, [w])

    loss, grads = step()
    return grads, tf.autodiff.explain_nan(loss, [w])


def the_where_trick():
    w, b = tf.Variable([0.0, 4.0]), tf.Variable(1.0)

    @tf.function
    def step():
        scaled = 2.0 * tf.ones([2])
        with tf.GradientTape() as tape:
            inverse = 1.0 / w  # <- nan_origin
            loss = tf.reduce_sum(tf.where(w > 0.0, inverse * scaled, 0.0)) + b
        return loss, tape.gradient(loss, [w, b])

    loss, grads = step()
    return grads, tf.autodiff.explain_nan(loss, [w, b])


def an_exponential_that_overflows_in_training():
    w = tf.Variable([1.0, 100.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            grown = tf.exp(w * x)  # <- inf_origin
            loss = tf.reduce_mean(grown)
        dw = tape.gradient(loss, w)
        w.assign_sub(0.1 * dw)
        return loss, dw

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain_nan(loss, w)


def a_function_in_a_function_in_a_function():
    w = tf.Variable([0.0, 3.0])

    @tf.function
    def length(x):
        return tf.sqrt(tf.reduce_sum(x * x, axis=-1))  # <- nan_origin

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(length(tf.reshape(w, [2, 1])) * x)
        return loss, tape.gradient(loss, w)

    @tf.function
    def step(x):
        doubled = x * 2.0
        loss, dw = gradients(doubled)
        return loss, dw

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain_nan(loss, w)


def the_gradient_alone():
    w = tf.Variable([0.0, 0.0])

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            angles = tf.math.atan2(w[0], w[1]) * x  # <- nan_origin
        return tape.gradient(angles, w)

    dw = gradients(tf.constant(2.0))
    return dw, tf.autodiff.explain_nan(dw, w)


def a_tape_in_a_loop():
    w = tf.Variable(2.0)

    @tf.function
    def train(n):
        total = tf.constant(0.0)
        last = tf.constant(0.0)
        for i in tf.range(n):
            with tf.GradientTape() as tape:
                loss = tf.sqrt(w * (2.0 - tf.cast(i, tf.float32)))  # <- nan_origin
            last = tape.gradient(loss, w)
            total += loss
        return total, last

    loss, dw = train(tf.constant(3))
    return dw, tf.autodiff.explain_nan(loss, w)


def a_loop_that_trains():
    w = tf.Variable(2.0)

    @tf.function
    def train(xs):
        total = tf.constant(0.0)
        for x in xs:
            with tf.GradientTape() as tape:
                root = tf.sqrt(w - x)  # <- inf_origin
                loss = root * 0.5
            dw = tape.gradient(loss, w)
            w.assign_sub(dw)
            total += loss
        return total, dw

    loss, dw = train(tf.constant([1.0, 1.75, 1.0]))
    return dw, tf.autodiff.explain_nan(loss, w)


def a_branch():
    w = tf.Variable(0.0)

    @tf.function
    def step(x):
        if x > 0.0:
            with tf.GradientTape() as tape:
                loss = tf.math.log(w * w) * x  # <- nan_origin
            dw = tape.gradient(loss, w)
        else:
            with tf.GradientTape() as tape:
                loss = w * x
            dw = tape.gradient(loss, w)
        return loss, dw

    loss, dw = step(tf.constant(2.0))
    return dw, tf.autodiff.explain_nan(loss, w)
