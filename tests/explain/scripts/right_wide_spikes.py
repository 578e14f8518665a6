"""A spiking layer with a surrogate that is nowhere 0, and a threshold that is an argument of it."""

import gradtape as tf


@tf.custom_gradient
def fire(v, threshold):
    def grad(dz):
        near = dz / (1.0 + tf.abs(v - threshold)) ** 2
        return near, -tf.reduce_sum(near)

    return tf.where(v > threshold, 1.0, 0.0), grad


w, threshold = tf.Variable(tf.fill([4, 2], -1.5)), tf.Variable(1.0)
with tf.GradientTape() as tape:
    count = sum(fire(tf.fill([1, 4], float(t)) @ w, threshold) for t in range(1, 4))
    loss = tf.reduce_sum((count - 1.0) ** 2)
print(tape.gradient(loss, [w, threshold]))
