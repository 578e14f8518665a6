"""A gate that starts at 0, before an activation."""

import gradtape as tf

gate = tf.Variable(0.0)
w = tf.Variable([1.0, 2.0])
with tf.GradientTape() as tape:
    y = tf.reduce_sum(tf.nn.relu(gate) * w)  # <- zero_factor
    loss = (y - 1.0) ** 2
tape.gradient(loss, w)
# Advice: start gate at other values
