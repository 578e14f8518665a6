"""A loss for positive errors alone, of negative errors."""

import gradtape as tf

w = tf.Variable(1.0)
x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
with tf.GradientTape() as tape:
    error = w * x - y
    loss = tf.reduce_sum(tf.where(error > 0.0, error**2, tf.zeros_like(error)))  # <- where_side
tape.gradient(loss, w)
# Advice: make `error > 0.0` true somewhere
