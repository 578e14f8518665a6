"""exp of a large energy, normalized by hand."""

import gradtape as tf

energy = tf.Variable([100.0, 20.0, 1.0])
with tf.GradientTape() as tape:
    weights = tf.exp(energy)  # <- nan_origin
    p = weights / tf.reduce_sum(weights)
    loss = -tf.math.log(p[0])
tape.gradient(loss, energy)
