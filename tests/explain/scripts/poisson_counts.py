"""Counts that are drawn with a learned rate."""

import gradtape as tf

log_rate = tf.Variable([0.5, 1.0])
with tf.GradientTape() as tape:
    rate = tf.exp(log_rate)
    counts = tf.random.poisson([100], rate)  # <- not_differentiable
    loss = tf.reduce_mean((tf.reduce_mean(counts, axis=0) - 4.0) ** 2)
tape.gradient(loss, log_rate)
# Advice: log-probability
