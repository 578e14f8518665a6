"""Activations above 6 in a mobile network."""

import gradtape as tf

kernel = tf.Variable([[4.0], [5.0]])
x = tf.constant([[2.0, 3.0], [1.0, 4.0]])
with tf.GradientTape() as tape:
    h = tf.nn.relu6(x @ kernel)  # <- saturated
    loss = tf.reduce_mean(h)
tape.gradient(loss, kernel)
# Advice: scale its input down
