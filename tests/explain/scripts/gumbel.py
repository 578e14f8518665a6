"""Gumbel noise of a uniform number that is 0."""

import gradtape as tf

logits = tf.Variable([0.1, 0.2])
u = tf.constant([0.0, 0.5])
with tf.GradientTape() as tape:
    g = -tf.math.log(-tf.math.log(u))  # <- overflow
    y = tf.nn.softmax((logits + g) / 0.5)
    loss = tf.reduce_sum(y * [1.0, 2.0])
tape.gradient(loss, logits)
