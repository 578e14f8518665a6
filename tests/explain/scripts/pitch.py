"""The pitch of a quaternion that looks straight up."""

import gradtape as tf

q = tf.Variable([0.70710678, 0.0, 0.70710678, 0.0])
with tf.GradientTape() as tape:
    unit = q / tf.norm(q)
    w, x, y, z = tf.unstack(unit)
    pitch = tf.asin(2.0 * (w * y - z * x))  # <- nan_origin
    loss = (pitch - 1.0) ** 2
print(tape.gradient(loss, q))
# Fix: * (1 - 1e-06)
