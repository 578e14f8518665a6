"""The norm of squares that are too small."""

import gradtape as tf

x = tf.Variable([1e-30, 1e-25])
with tf.GradientTape() as tape:
    squares = x * x
    loss = tf.norm(squares)  # <- nan_origin
print(tape.gradient(loss, x))
