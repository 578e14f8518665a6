"""Angles of equal unit vectors by acos, with a dot product above 1."""

import gradtape as tf

a = tf.Variable([[0.6, 0.8], [1.0, 0.0]])
b = tf.constant([[0.6, 0.8], [0.0, 1.0]])


@tf.function
def step():
    with tf.GradientTape() as tape:
        cosine = tf.einsum("ij,ij->i", a, b) * (1.0 + 1e-6)
        loss = tf.reduce_mean(tf.acos(cosine))  # <- nan_origin
    return loss, tape.gradient(loss, a)


step()
