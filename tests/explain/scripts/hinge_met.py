"""A triplet loss whose margin is met."""

import gradtape as tf

w = tf.Variable(tf.eye(2))
anchor, positive, negative = tf.constant([[1.0, 0.0]]), tf.constant([[1.0, 0.1]]), tf.constant([[-5.0, 4.0]])
with tf.GradientTape() as tape:
    near = tf.reduce_sum(((anchor - positive) @ w) ** 2, 1)
    far = tf.reduce_sum(((anchor - negative) @ w) ** 2, 1)
    loss = tf.reduce_mean(tf.maximum(near - far + 0.2, 0.0))  # <- clipped
tape.gradient(loss, w)
# Advice: try harder examples
