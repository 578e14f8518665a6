"""Polynomial features of large numbers."""

import gradtape as tf

w = tf.Variable(tf.ones([3]))
x = tf.constant([1000.0, 2000.0])
with tf.GradientTape() as tape:
    features = tf.stack([x, x**8, x**16], axis=1)  # <- inf_origin
    loss = tf.reduce_mean(tf.linalg.matvec(features, w) ** 2)
tape.gradient(loss, w)
# Advice: smaller values
