"""The direction of a wind that does not blow."""

import gradtape as tf

u, v = tf.Variable([0.0, 1.0]), tf.Variable([0.0, 1.0])
with tf.GradientTape() as tape:
    angle = tf.atan2(v, u)  # <- nan_origin
    loss = tf.reduce_sum(angle**2)
tape.gradient(loss, [u, v])
# Fix: (v == 0) & (u == 0)
