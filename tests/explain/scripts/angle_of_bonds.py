"""The angle of bonds that lie on one line."""

import gradtape as tf

p = tf.Variable([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])


def angle(p):
    a, b = p[0] - p[1], p[2] - p[1]
    cosine = tf.reduce_sum(a * b) / (tf.norm(a) * tf.norm(b))
    return tf.acos(cosine)  # <- nan_origin


with tf.GradientTape() as tape:
    energy = (angle(p) - 2.0) ** 2
print(tape.gradient(energy, p))
# Fix: tf.clip_by_value(cosine
