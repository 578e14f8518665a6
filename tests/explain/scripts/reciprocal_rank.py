"""A mean of reciprocal distances, one of which is zero, with a sign."""

import gradtape as tf

x = tf.Variable([-1.0, 0.5, 2.0])
nodes = tf.constant([-1.0, 0.0, 1.0])
with tf.GradientTape() as tape:
    force = tf.reduce_sum(1.0 / (x - nodes))  # <- nan_origin
    loss = tf.tanh(force)
print(tape.gradient(loss, x))
# Fix: divide_no_nan(1.0, x - nodes)
