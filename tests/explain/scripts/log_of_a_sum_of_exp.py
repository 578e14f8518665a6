"""A partition function by hand."""

import gradtape as tf

energy = tf.Variable([100.0, 200.0])
with tf.GradientTape() as tape:
    log_z = tf.math.log(tf.reduce_sum(tf.exp(energy)))  # <- nan_origin
    loss = log_z - energy[0]
tape.gradient(loss, energy)
# Fix: tf.reduce_logsumexp(energy)
