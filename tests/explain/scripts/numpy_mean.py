"""The mean over samples by NumPy."""

import numpy as np

import gradtape as tf

sigma = tf.Variable([0.5, 1.5])
noise = tf.random.normal([10, 2], seed=9)
with tf.GradientTape() as tape:
    samples = noise * sigma
    moments = np.mean(samples**2, axis=0)  # <- left_library
    loss = tf.reduce_sum((moments - 1.0) ** 2)
print(tape.gradient(loss, sigma))
