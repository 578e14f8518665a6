"""A small loss in float16."""

import gradtape as tf

w = tf.Variable([0.5, 0.25])
with tf.GradientTape() as tape:
    error = tf.cast(1e-5 * w, tf.float16)
    loss = tf.reduce_sum(error * error)
tape.gradient(loss, w)
