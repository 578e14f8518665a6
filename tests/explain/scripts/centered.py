"""The sum of centered features."""

import gradtape as tf

features = tf.Variable([1.0, 2.0, 3.0, 6.0])
with tf.GradientTape() as tape:
    mean = tf.reduce_mean(features)
    centered = features - mean  # <- cancelled
    loss = tf.reduce_sum(centered)
tape.gradient(loss, features)
# Advice: check the signs
