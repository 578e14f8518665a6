"""Attention with a mask that leaves one key for each query."""

import gradtape as tf

scores = tf.Variable([[0.1, 0.2, 0.3], [0.0, 1.0, 0.5]])
mask = tf.constant([[True, True, False], [False, True, True]])
with tf.GradientTape() as tape:
    weights = tf.nn.softmax(tf.where(mask, scores, -1e9))
    loss = tf.reduce_sum(weights * [[1.0, 2.0, 3.0]])
print(tape.gradient(loss, scores))
