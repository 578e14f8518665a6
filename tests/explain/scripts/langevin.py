"""coth(x) - 1/x with a series near zero, by tf.where."""

import gradtape as tf

x = tf.Variable([0.0, 0.5, 2.0])
with tf.GradientTape() as tape:
    exact = 1.0 / (1.0 - tf.exp(-x)) - 1.0 / x  # <- nan_origin
    f = tf.where(tf.abs(x) < 0.1, 0.5 + x / 12.0, exact)
    loss = tf.reduce_sum(f**2)
tape.gradient(loss, x)
