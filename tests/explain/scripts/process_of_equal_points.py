"""The likelihood of a Gaussian process, two of whose points are equal."""

import gradtape as tf

length = tf.Variable(1.0)
points = tf.constant([0.0, 1.0, 1.0, 2.5])


@tf.function
def log_det():
    gaps = (points[:, None] - points) / length
    kernel = tf.exp(-0.5 * gaps**2)
    return tf.linalg.logdet(kernel)  # <- nan_origin


with tf.GradientTape() as tape:
    loss = log_det()
print(tape.gradient(loss, length))
# Fix: tf.eye(tf.shape(kernel)[-1])
