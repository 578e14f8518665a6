"""The normal of a face whose corners lie on one line."""

import gradtape as tf

corners = tf.Variable([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])


def normal(p):
    n = tf.linalg.cross(p[1] - p[0], p[2] - p[0])
    return tf.linalg.normalize(n)[0]  # <- nan_origin


with tf.GradientTape() as tape:
    light = tf.tensordot(normal(corners), tf.constant([0.0, 0.0, 1.0]), 1)
    loss = (light - 1.0) ** 2
print(tape.gradient(loss, corners))
# Fix: tf.math.l2_normalize(n)
