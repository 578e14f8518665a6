"""A pinball loss of the quantile 0."""

import gradtape as tf

w = tf.Variable([[0.1], [0.2]])
quantile = tf.constant(0.0)


def pinball(y, p):
    error = y - p
    return tf.reduce_mean(tf.maximum(quantile * error, (quantile - 1.0) * error))  # <- zero_factor


x, y = tf.constant([[1.0, 1.0], [2.0, 0.5]]), tf.constant([[5.0], [4.0]])
with tf.GradientTape() as tape:
    loss = pinball(y, x @ w)
print(tape.gradient(loss, w))
# Advice: give quantile other values than 0
