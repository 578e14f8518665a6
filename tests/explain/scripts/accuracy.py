"""An accuracy as a loss, of equal class numbers."""

import gradtape as tf

scores = tf.Variable([[2.0, 1.0, 0.1], [0.3, 2.0, 0.2]])
labels = tf.constant([0, 1])
with tf.GradientTape() as tape:
    right = tf.cast(tf.equal(tf.argmax(scores, 1, output_type=tf.int32), labels), tf.float32)  # <- not_differentiable
    loss = 1.0 - tf.reduce_mean(right)
tape.gradient(loss, scores)
# Advice: an accuracy only counts
