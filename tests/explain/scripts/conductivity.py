"""An inverse problem whose unknown goes through NumPy."""

import numpy as np

import gradtape as tf

log_k = tf.Variable(0.1)
measured = tf.constant([0.2, 0.4, 0.5])
x = tf.constant([0.1, 0.2, 0.3])
with tf.GradientTape() as tape:
    k = np.exp(log_k)  # <- left_library
    heat = x * k
    loss = tf.reduce_mean((heat - measured) ** 2)
print(tape.gradient(loss, log_k))
# Fix: tf.exp(log_k)
