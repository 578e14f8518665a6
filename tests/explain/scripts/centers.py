"""Centers that are far from all points."""

import gradtape as tf

centers = tf.Variable([[100.0, 100.0], [120.0, 90.0]])
x = tf.random.stateless_normal([6, 2], [0, 1])
with tf.GradientTape() as tape:
    d2 = tf.reduce_sum((x[:, None] - centers[None]) ** 2, axis=-1)
    phi = tf.exp(-d2 / 2.0)  # <- underflow
    loss = tf.reduce_mean((tf.reduce_sum(phi, axis=1) - 1.0) ** 2)
tape.gradient(loss, centers)
# Advice: logarithms
