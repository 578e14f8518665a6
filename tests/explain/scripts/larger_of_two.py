"""The larger of two experts is trained."""

import gradtape as tf

a, b = tf.Variable([1.0, 2.0]), tf.Variable([-1.0, -2.0])
x = tf.constant([1.0, 1.0])
with tf.GradientTape() as tape:
    scores = tf.stack([tf.reduce_sum(a * x), tf.reduce_sum(b * x)])
    loss = tf.reduce_max(scores)  # <- not_selected
print(tape.gradient(loss, [a, b]))
# Advice: tf.reduce_logsumexp(x) over the same axis
