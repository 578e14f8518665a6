"""A map that is iterated until it overflows."""

import gradtape as tf

rate = tf.Variable(3.0)


@tf.function
def orbit(x):
    for _ in tf.range(12):
        x = rate * x * x  # <- nan_origin
    return x


with tf.GradientTape() as tape:
    loss = tf.math.log(orbit(tf.constant(2.0)))
print(tape.gradient(loss, rate))
# Advice: try smaller values
