"""The logarithm of what is left of a probability that is 1."""

import gradtape as tf

log_p = tf.Variable([-0.5, -1e-9, 0.0])
with tf.GradientTape() as tape:
    rest = tf.math.log(1.0 - tf.exp(log_p))  # <- inf_origin
    loss = -tf.reduce_mean(rest)
print(tape.gradient(loss, log_p))
