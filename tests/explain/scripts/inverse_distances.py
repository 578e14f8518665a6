"""Weights of inverse distances, at one of the points."""

import gradtape as tf

query = tf.Variable([1.0, 0.0])
points = tf.constant([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
values = tf.constant([1.0, 2.0, 3.0])


def interpolate(query):
    square = tf.reduce_sum((points - query) ** 2, axis=1)
    weights = 1.0 / square  # <- nan_origin
    return tf.reduce_sum(weights * values) / tf.reduce_sum(weights)


with tf.GradientTape() as tape:
    y = interpolate(query)
print(tape.gradient(y, query))
