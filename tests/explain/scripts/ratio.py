"""A ratio beyond its clipping range."""

import gradtape as tf

logits = tf.Variable([2.0, 0.0])
old = tf.math.log(tf.constant([0.1]))
action, advantage = tf.constant([0]), tf.constant([1.5])
with tf.GradientTape() as tape:
    log_p = tf.nn.log_softmax(logits)
    ratio = tf.exp(tf.gather(log_p, action) - old)
    clipped = tf.clip_by_value(ratio, 0.8, 1.2) * advantage  # <- clipped
    loss = -tf.reduce_mean(tf.minimum(ratio * advantage, clipped))
tape.gradient(loss, logits)
# Advice: fewer steps with the same ones
