"""A mask of positive values, of values that are negative."""

import gradtape as tf

x = tf.Variable([-1.0, -2.0, -3.0])
with tf.GradientTape() as tape:
    mask = tf.cast(x > 0.0, tf.float32)
    y = x * mask  # <- masked_out
    loss = tf.reduce_sum(y**2)
tape.gradient(loss, x)
# Advice: check the mask
