"""The divergence of two soft histograms, both of which have an empty bin."""

import gradtape as tf

centers = tf.constant([-2.0, 0.0, 2.0, 9.0])
shift = tf.Variable(0.3)
data = tf.constant([-1.9, 0.1, 0.2, 2.1, 1.8, -2.2])
reference = tf.constant([-2.0, 0.1, 0.0, 2.0, 1.9, -2.1])


def histogram(x):
    near = tf.nn.relu(1.0 - tf.abs(x[:, None] - centers))
    return tf.reduce_mean(near, axis=0)


def divergence(p, q):
    log_p = tf.math.log(p)  # <- nan_origin
    log_q = tf.math.log(q)
    return tf.reduce_sum(p * (log_p - log_q))


with tf.GradientTape() as tape:
    loss = divergence(histogram(data + shift), histogram(reference))
print(loss, tape.gradient(loss, shift))
# Fix: tf.maximum(q, 1e-12)
