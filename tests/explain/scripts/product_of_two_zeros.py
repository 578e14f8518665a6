"""The probability that all happen, of two that cannot."""

import gradtape as tf

p = tf.Variable([0.0, 0.0, 0.7])
with tf.GradientTape() as tape:
    joint = tf.reduce_prod(p)  # <- zero_factor
    loss = (joint - 1.0) ** 2
tape.gradient(loss, p)
# Advice: start p at other values
