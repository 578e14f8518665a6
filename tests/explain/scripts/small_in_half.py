"""A gradient that is too small for half precision."""

import gradtape as tf

w = tf.Variable([1.0, 2.0, 3.0, 4.0])
with tf.GradientTape() as tape:
    h = tf.cast(w, tf.float16)
    small = h * tf.constant(1e-4, tf.float16)  # <- underflow
    loss = tf.reduce_mean(small * tf.constant(1e-4, tf.float16))
print(tape.gradient(loss, w))
# Advice: tf.float32
