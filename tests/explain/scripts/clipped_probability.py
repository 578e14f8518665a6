"""A probability is clipped before its logarithm, far outside."""

import gradtape as tf

logits = tf.Variable([-40.0, -35.0])
with tf.GradientTape() as tape:
    p = tf.sigmoid(logits)
    loss = -tf.reduce_mean(tf.math.log(tf.clip_by_value(p, 1e-7, 1.0)))  # <- clipped
print(tape.gradient(loss, logits))
# Fix: tf.math.log_sigmoid(logits)
