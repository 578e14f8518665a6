"""A logarithm with a safe input on both sides."""

import gradtape as tf

x = tf.Variable([0.0, 1.0, 2.0])
with tf.GradientTape() as tape:
    positive = x > 0.0
    y = tf.where(positive, tf.math.log(tf.where(positive, x, 1.0)), 0.0)
    loss = tf.reduce_sum(y)
tape.gradient(loss, x)
