"""The scale of an exploration noise is given to NumPy."""

import numpy as np

import gradtape as tf

log_std = tf.Variable(-0.5)
mean = tf.constant([0.1, 0.2])
with tf.GradientTape() as tape:
    std = tf.exp(log_std)
    action = mean + np.random.default_rng(0).normal(0.0, std, size=2).astype("float32")  # <- left_library
    loss = tf.reduce_sum(action**2)
print(tape.gradient(loss, log_std))
# Advice: mean + deviation * tf.random.normal(shape)
