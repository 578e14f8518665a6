"""A weight penalty in half precision."""

import gradtape as tf

w = tf.Variable(tf.fill([300, 300], tf.constant(2.0, tf.float16)))
with tf.GradientTape() as tape:
    penalty = tf.sqrt(tf.reduce_sum(w * w))  # <- nan_origin
    loss = 0.01 * penalty * penalty
print(tape.gradient(loss, w))
# Advice: tf.float32
