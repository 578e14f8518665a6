"""A penalty is added to a float of the loss."""

import gradtape as tf

w = tf.Variable([[0.5], [0.2]])
x, y = tf.constant([[1.0, 2.0]]), tf.constant([[1.0]])


def error():
    return float(tf.reduce_mean((x @ w - y) ** 2))  # <- left_library


with tf.GradientTape() as tape:
    loss = tf.constant(0.0)
    loss += error()
tape.gradient(loss, w)
