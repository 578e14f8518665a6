"""A geometric mean of rates, one of which is 0."""

import gradtape as tf

rates = tf.Variable([0.5, 0.0, 0.3])
with tf.GradientTape() as tape:
    mean = tf.reduce_prod(rates) ** (1.0 / 3.0)  # <- nan_origin
    loss = -mean
print(tape.gradient(loss, rates))
