"""A fractional power of a negative number."""

import gradtape as tf

w = tf.Variable([-1.0, 2.0])
with tf.GradientTape() as tape:
    y = w**1.5  # <- nan_origin
    loss = tf.reduce_sum(y)
tape.gradient(loss, w)
# Advice: keep its input
