"""The bound of a uniform draw is learned."""

import gradtape as tf

high = tf.Variable(2.0)
with tf.GradientTape() as tape:
    draws = tf.random.uniform([8], 0.0, high, seed=3)
    loss = tf.reduce_mean((draws - 3.0) ** 2)
print(tape.gradient(loss, high))
