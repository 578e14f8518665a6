"""A logistic function by hand."""

import gradtape as tf

theta = tf.Variable([1.0, -2.0])


def hypothesis(x):
    return 1.0 / (1.0 + tf.exp(-tf.linalg.matvec(x, theta)))  # <- nan_origin


x = tf.constant([[1.0, 2.0], [30.0, 90.0]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((hypothesis(x) - 1.0) ** 2)
loss, tape.gradient(loss, theta)
