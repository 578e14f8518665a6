"""A normal quantile of a uniform number that is 1."""

import gradtape as tf

sigma = tf.Variable(2.0)
u = tf.constant([0.1, 0.5, 1.0])


@tf.function
def sample_loss(u):
    z = tf.math.erfinv(2.0 * u - 1.0) * 1.41421356  # <- nan_origin
    return tf.reduce_mean(tf.tanh(sigma * z) + 0.1 * sigma * z)


with tf.GradientTape() as tape:
    loss = sample_loss(u)
print(tape.gradient(loss, sigma))
