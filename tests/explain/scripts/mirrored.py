"""A network of x squared, at its symmetric point."""

import gradtape as tf

shift = tf.Variable(0.0)
x = tf.constant([-2.0, -1.0, 1.0, 2.0])


@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x - shift) ** 4)  # <- cancelled
    return tape.gradient(loss, shift)


step()
# Advice: start from another value
