"""A cross entropy by hand, of a probability of exactly 1."""

import gradtape as tf

logit = tf.Variable([40.0, -2.0])
y = tf.constant([0.0, 1.0])
with tf.GradientTape() as tape:
    p = tf.sigmoid(logit)
    loss = -tf.reduce_mean(y * tf.math.log(p) + (1.0 - y) * tf.math.log(1.0 - p))  # <- nan_origin
tape.gradient(loss, logit)
