"""Weights of attention that are normalized by their sum, which is 0."""

import gradtape as tf

scores = tf.Variable([[1.0, 2.0], [-1.0, -2.0]])
with tf.GradientTape() as tape:
    positive = tf.nn.relu(scores)
    weights = positive / tf.reduce_sum(positive, axis=1, keepdims=True)  # <- nan_origin
    loss = tf.reduce_sum(weights * [1.0, 2.0])
tape.gradient(loss, scores)
