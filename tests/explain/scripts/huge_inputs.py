"""Pixels of 0 to 255 and a tanh."""

import gradtape as tf

w = tf.Variable([[0.5], [0.8]])
x = tf.constant([[200.0, 255.0], [180.0, 90.0]])


@tf.function
def step():
    with tf.GradientTape() as tape:
        h = tf.tanh(x @ w)  # <- saturated
        loss = tf.reduce_mean((h - 0.3) ** 2)
    return tape.gradient(loss, w)


step()
# Advice: scale its input down
