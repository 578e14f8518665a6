"""A Weibull likelihood of a part that failed at once."""

import gradtape as tf

shape, scale = tf.Variable(1.5), tf.Variable(2.0)
times = tf.constant([0.0, 1.0, 3.0])
with tf.GradientTape() as tape:
    z = times / scale
    log_p = tf.math.log(shape / scale) + (shape - 1.0) * tf.math.log(z) - z**shape  # <- inf_origin
    loss = -tf.reduce_mean(log_p)
print(tape.gradient(loss, [shape, scale]))
# Fix: tf.maximum(z, 1e-12)
