"""A weighted mean without weights, by divide_no_nan."""

import gradtape as tf

x = tf.Variable([1.0, 2.0])
counts = tf.constant([1.0, 1.0])
with tf.GradientTape() as tape:
    total = tf.reduce_sum(x * counts)
    mean = tf.math.divide_no_nan(total, tf.reduce_sum(counts) - 2.0)  # <- zero_factor
tape.gradient(mean, x)
# Advice: check that factor
