"""The two ends of a grid are learned; the grid is made by linspace."""

import numpy as np

import gradtape as tf


class Grid(tf.Module):
    def __init__(self, n):
        super().__init__()
        self.low, self.high = tf.Variable(-1.0), tf.Variable(1.0)
        self.n = n

    def knots(self):
        return np.linspace(self.low, self.high, self.n, dtype="float32")  # <- left_library

    def __call__(self, x):
        return tf.exp(-((x[:, None] - self.knots()) ** 2))


grid, head = Grid(5), tf.keras.layers.Dense(1)
x, y = tf.random.normal([12]), tf.random.normal([12, 1])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((head(grid(x)) - y) ** 2)
variables = [*grid.trainable_variables, *head.trainable_variables]
print(tape.gradient(loss, variables))
# Fix: tf.linspace(self.low
