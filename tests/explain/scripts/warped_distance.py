"""Dynamic time warping that fills a matrix of NumPy."""

import numpy as np

import gradtape as tf

shift = tf.Variable(0.3)


def warping(a, b):
    table = np.full((len(a) + 1, len(b) + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            cost = tf.abs(a[i] - b[j])
            table[i + 1, j + 1] = cost + min(table[i, j], table[i, j + 1], table[i + 1, j])  # <- left_library
    return table[-1, -1]


with tf.GradientTape() as tape:
    series = tf.constant([0.0, 0.5, 1.0]) + shift
    loss = tf.cast(warping(series, tf.constant([0.0, 0.4, 1.0])), tf.float32)
print(tape.gradient(loss, shift))
# Advice: in a list
