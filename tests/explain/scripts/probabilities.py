"""Probabilities that are clipped after they are 1."""

import gradtape as tf

w = tf.Variable(60.0)
x = tf.constant([1.0, 2.0, 3.0])
with tf.GradientTape() as tape:
    p = tf.sigmoid(w * x)  # <- saturated
    p = tf.clip_by_value(p, 1e-7, 1.0 - 1e-7)
    loss = -tf.reduce_mean(tf.math.log(1.0 - p))
tape.gradient(loss, w)
# Advice: give the loss the logits
