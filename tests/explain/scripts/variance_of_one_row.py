"""A layer norm by hand of a row of equal numbers."""

import gradtape as tf

x = tf.Variable([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0]])


@tf.function
def normalized(x):
    mean = tf.reduce_mean(x, 1, keepdims=True)
    deviation = tf.sqrt(tf.reduce_mean((x - mean) ** 2, 1, keepdims=True))
    return (x - mean) / deviation  # <- nan_origin


with tf.GradientTape() as tape:
    loss = tf.reduce_sum(normalized(x) ** 3)
print(tape.gradient(loss, x))
# Fix: keepdims=True) + 1e-12
