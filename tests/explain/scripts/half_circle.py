"""The height of a half circle at its end."""

import gradtape as tf

x = tf.Variable([0.0, 0.6, 1.0])
with tf.GradientTape() as tape:
    height = tf.sqrt(1.0 - x**2)  # <- inf_origin
    area = tf.reduce_sum(height)
tape.gradient(area, x)
