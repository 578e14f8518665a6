"""A running weighted mean whose first weight is zero."""

import gradtape as tf

values = tf.Variable([1.0, 2.0, 4.0])
weights = tf.constant([0.0, 1.0, 0.5])
with tf.GradientTape() as tape:
    mean = tf.cumsum(weights * values) / tf.cumsum(weights)  # <- nan_origin
    loss = tf.reduce_sum((mean - 1.0) ** 2)
print(tape.gradient(loss, values))
# Fix: divide_no_nan
