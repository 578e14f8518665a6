"""A mask of infinities that leaves nothing."""

import gradtape as tf

w = tf.Variable([[1.0, 2.0, 3.0]])
mask = tf.constant([[float("-inf"), float("-inf"), float("-inf")]])
with tf.GradientTape() as tape:
    p = tf.nn.softmax(w + mask)  # <- nan_origin
    loss = tf.reduce_sum(p * [[1.0, 2.0, 3.0]])
tape.gradient(loss, w)
# Advice: mask with a large negative number
