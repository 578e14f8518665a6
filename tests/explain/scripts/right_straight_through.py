"""A straight-through rounding."""

import gradtape as tf

w = tf.Variable([0.4, 1.6])
with tf.GradientTape() as tape:
    rounded = w + tf.stop_gradient(tf.round(w) - w)
    loss = tf.reduce_sum((rounded - 3.0) ** 2)
tape.gradient(loss, w)
