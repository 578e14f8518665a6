"""A sum that is stopped as a whole."""

import gradtape as tf

x = tf.Variable([0.3, 0.8])
with tf.GradientTape() as tape:
    soft = tf.sigmoid(x)
    hard = tf.round(soft)
    y = tf.stop_gradient(hard - soft + soft)  # <- stopped
    loss = tf.reduce_sum(y * y)
tape.gradient(loss, x)
