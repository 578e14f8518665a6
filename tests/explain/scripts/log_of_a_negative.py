"""The logarithm of a return that is negative."""

import gradtape as tf

returns = tf.Variable([0.5, -0.2, 0.1])
with tf.GradientTape() as tape:
    utility = tf.math.log(returns)  # <- nan_origin
    loss = -tf.reduce_mean(utility)
tape.gradient(loss, returns)
