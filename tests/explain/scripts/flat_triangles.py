"""The areas of the triangles of a mesh, by Heron's formula; three of its corners lie on a line."""

import gradtape as tf

corners = tf.Variable([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.5, 1.0]])
triangles = tf.constant([[0, 1, 3], [0, 1, 2]])


def areas(corners):
    p, q, r = tf.unstack(tf.gather(corners, triangles), axis=1)
    a, b, c = tf.norm(p - q, axis=1), tf.norm(q - r, axis=1), tf.norm(r - p, axis=1)
    s = (a + b + c) / 2.0
    return tf.sqrt(s * (s - a) * (s - b) * (s - c))  # <- nan_origin


optimizer = tf.keras.optimizers.SGD(0.1)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum((areas(corners) - 0.5) ** 2)
print(loss, tape.gradient(loss, corners))
