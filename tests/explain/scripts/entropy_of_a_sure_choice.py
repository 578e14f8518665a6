"""The entropy of a probability of 0."""

import gradtape as tf

p = tf.Variable([0.0, 0.25, 0.75])
with tf.GradientTape() as tape:
    entropy = -tf.reduce_sum(p * tf.math.log(p))  # <- nan_origin
tape.gradient(entropy, p)
