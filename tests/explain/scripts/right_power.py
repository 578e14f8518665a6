"""Generalized mean pooling with a learned power, of activations that are zero."""

import gradtape as tf

power = tf.Variable(3.0)
x = tf.constant([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0]])
with tf.GradientTape() as tape:
    pooled = tf.reduce_mean(x**power, axis=1) ** (1.0 / power)
    loss = tf.reduce_sum(pooled)
tape.gradient(loss, power)
