"""A loss of the first time step alone."""

import gradtape as tf

first, later = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
with tf.GradientTape() as tape:
    sequence = tf.stack([first, later])
    output = tf.tanh(sequence)
    loss = tf.reduce_sum(output[0] ** 2)  # <- not_selected
tape.gradient(loss, [first, later])
# Advice: use what the target takes
