"""A ratio of two losses whose second is zero in the first batch."""

import gradtape as tf

w = tf.Variable([1.0, 1.0])


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        first = tf.reduce_mean((w * x - y) ** 2)
        second = tf.reduce_mean(tf.abs(w - 1.0))
        loss = first / second  # <- nan_origin
    return loss, tape.gradient(loss, w)


step(tf.constant([1.0, 2.0]), tf.constant([0.0, 1.0]))
# Fix: tf.abs(second) < 0.001
