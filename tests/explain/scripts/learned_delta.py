"""The bound of a Huber loss is learned while all errors are small."""

import gradtape as tf

delta = tf.Variable(1.0)
errors = tf.constant([0.1, -0.3, 0.5])


@tf.function
def step():
    with tf.GradientTape() as tape:
        size = tf.abs(errors)
        linear = delta * (size - 0.5 * delta)
        loss = tf.reduce_sum(tf.where(size < 1.0, 0.5 * errors**2, linear))  # <- where_side
    return tape.gradient(loss, delta)


step()
# Advice: make `size < 1.0` false somewhere
