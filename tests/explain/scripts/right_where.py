"""A safe square root in a function."""

import gradtape as tf

x = tf.Variable([0.0, 4.0])


@tf.function
def step():
    with tf.GradientTape() as tape:
        inside = tf.where(x > 0.0, x, 1.0)
        loss = tf.reduce_sum(tf.where(x > 0.0, tf.sqrt(inside), x))
    return tape.gradient(loss, x)


step()
