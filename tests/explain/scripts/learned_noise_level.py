"""Noise of a learned level is drawn by NumPy."""

import numpy as np

import gradtape as tf

level = tf.Variable(0.3)
rng = np.random.default_rng(3)


@tf.function
def loss_of(x, noisy):
    return tf.reduce_mean((x - noisy) ** 2)


x = tf.ones([4])
with tf.GradientTape() as tape:
    noisy = x + rng.normal(0.0, level, size=4).astype("float32")  # <- left_library
    loss = loss_of(x, noisy)
print(tape.gradient(loss, level))
# Advice: mean + deviation * tf.random.normal(shape)
