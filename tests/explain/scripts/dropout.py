"""A dropout of nearly everything."""

import gradtape as tf

x = tf.Variable([1.0, 2.0, 3.0])
with tf.GradientTape() as tape:
    kept = tf.nn.dropout(x, rate=0.9999, seed=1)  # <- dropped_out
    loss = tf.reduce_sum(kept**2)
tape.gradient(loss, x)
# Advice: a lower rate
