"""A forward pass by the averaged weights that the step updates."""

import gradtape as tf

w = tf.Variable([[0.5], [-0.5]])
average = tf.Variable([[0.0], [0.0]], trainable=False)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        average.assign(0.9 * average + 0.1 * w)  # <- state
        loss = tf.reduce_mean((x @ average - y) ** 2)
    return loss, tape.gradient(loss, w)


step(tf.ones([3, 2]), tf.ones([3, 1]))
# Fix: average.assign(new_average)
