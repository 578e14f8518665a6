"""Fisher's transformation of a correlation of 1."""

import gradtape as tf

r = tf.Variable([0.3, 1.0])
with tf.GradientTape() as tape:
    z = tf.atanh(r)  # <- inf_origin
    loss = tf.reduce_sum(z)
print(tape.gradient(loss, r))
