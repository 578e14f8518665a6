"""The two best scores are trained."""

import gradtape as tf

strong, weak = tf.Variable([5.0, 6.0]), tf.Variable([0.1, 0.2])
with tf.GradientTape() as tape:
    scores = tf.concat([strong, weak], axis=0)
    best, _ = tf.math.top_k(scores, k=2)  # <- not_selected
    loss = tf.reduce_sum(best)
tape.gradient(loss, [strong, weak])
# Advice: use what the target takes
