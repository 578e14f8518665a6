"""A logarithm behind a tf.where."""

import gradtape as tf

x = tf.Variable([0.0, 1.0, 2.0])
with tf.GradientTape() as tape:
    y = tf.where(x > 0.0, tf.math.log(x), 0.0)  # <- nan_origin
    loss = tf.reduce_sum(y)
tape.gradient(loss, x)
