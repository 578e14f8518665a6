"""The logarithm of 1 less 1."""

import gradtape as tf

x = tf.Variable([-1.0, 0.5])
with tf.GradientTape() as tape:
    y = tf.reduce_sum(tf.math.log1p(x) * x)  # <- inf_origin
tape.gradient(y, x)
