"""Embeddings of one dimension that are normalized."""

import gradtape as tf

embedding = tf.Variable([[2.0], [-4.0]])
with tf.GradientTape() as tape:
    unit = tf.math.l2_normalize(embedding, axis=1)  # <- cancelled
    loss = tf.reduce_sum((unit - 0.3) ** 2)
tape.gradient(loss, embedding)
# Advice: more than one element
