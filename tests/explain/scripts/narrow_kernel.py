"""A Gaussian kernel that is far too narrow."""

import gradtape as tf

points = tf.Variable([[0.0, 0.0], [5.0, 5.0]])
grid = tf.constant([[1.0, 1.0], [2.0, 3.0]])


@tf.function
def step(width):
    with tf.GradientTape() as tape:
        gaps = tf.reduce_sum((points[:, None] - grid[None]) ** 2, axis=-1)
        density = tf.exp(-gaps / (2.0 * width**2))  # <- underflow
        loss = -tf.reduce_sum(density)
    return tape.gradient(loss, points)


step(tf.constant(0.01))
# Advice: logarithms
