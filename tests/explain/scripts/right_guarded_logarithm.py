"""A logarithm behind a condition of a function."""

import gradtape as tf

x = tf.Variable(-1.0)


@tf.function
def step():
    with tf.GradientTape() as tape:
        if x > 0.0:
            y = tf.math.log(x)
        else:
            y = 2.0 * x
    return tape.gradient(y, x)


step()
