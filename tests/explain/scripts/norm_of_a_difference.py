"""The norm of a difference that is 0."""

import gradtape as tf

a, b = tf.Variable([1.0, 2.0]), tf.constant([1.0, 2.0])
with tf.GradientTape() as tape:
    loss = tf.norm(a - b)  # <- nan_origin
print(tape.gradient(loss, a))
