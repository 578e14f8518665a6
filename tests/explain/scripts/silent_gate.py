"""A gate of a sigmoid far below zero, before a product."""

import gradtape as tf

gate, content = tf.Variable([-120.0]), tf.Variable([2.0])
with tf.GradientTape() as tape:
    g = tf.sigmoid(gate)  # <- saturated
    loss = tf.reduce_sum((g * content - 1.0) ** 2)
print(tape.gradient(loss, [gate, content]))
# Advice: scale its input down
