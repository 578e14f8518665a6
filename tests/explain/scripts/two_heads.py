"""The larger of two heads."""

import gradtape as tf

a, b = tf.Variable([1.0, 2.0]), tf.Variable([5.0, 6.0])
x = tf.constant([[1.0, 1.0], [2.0, 1.0]])
with tf.GradientTape() as tape:
    heads = tf.stack([tf.linalg.matvec(x, a), tf.linalg.matvec(x, b)])
    best = tf.reduce_max(heads, axis=0)  # <- not_selected
    loss = tf.reduce_mean(best)
tape.gradient(loss, [a, b])
# Advice: tf.reduce_logsumexp(x) over the same axis
