"""Decibels back to powers, in float32."""

import gradtape as tf

level = tf.Variable([20.0, 390.0])
with tf.GradientTape() as tape:
    power = tf.pow(10.0, level / 10.0)  # <- nan_origin
    loss = 10.0 * tf.math.log(tf.reduce_sum(power)) / tf.math.log(10.0)
print(tape.gradient(loss, level))
# Advice: try smaller values
