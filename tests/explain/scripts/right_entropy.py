"""The entropy of probabilities, some of which are 0, by xlogy."""

import gradtape as tf

logits = tf.Variable([200.0, 0.0, 1.0])
weights = tf.Variable([0.5, 0.5, 0.0])
with tf.GradientTape() as tape:
    p = tf.nn.softmax(logits / 100.0)
    loss = tf.reduce_sum(tf.math.xlogy(tf.constant([0.0, 1.0, 2.0]), p * weights + 1e-3))
print(tape.gradient(loss, [logits, weights]))
