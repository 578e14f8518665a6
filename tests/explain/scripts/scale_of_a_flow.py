"""The log determinant of a flow whose scale is 0."""

import gradtape as tf

scale, shift = tf.Variable([1.0, 0.0]), tf.Variable([0.0, 0.0])
x = tf.constant([[0.5, 0.5], [1.0, 2.0]])
with tf.GradientTape() as tape:
    z = x * scale + shift
    log_det = tf.reduce_sum(tf.math.log(tf.abs(scale)))  # <- nan_origin
    loss = 0.5 * tf.reduce_mean(tf.reduce_sum(z**2, axis=1)) - log_det
tape.gradient(loss, [scale, shift])
