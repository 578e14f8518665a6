"""The sum of all probabilities is maximized."""

import gradtape as tf

logits = tf.Variable([0.0, 0.0, 0.0, 0.0])
with tf.GradientTape() as tape:
    p = tf.nn.softmax(logits)  # <- cancelled
    loss = -tf.reduce_sum(p)
tape.gradient(loss, logits)
# Advice: single outputs
