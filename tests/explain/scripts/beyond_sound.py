"""The factor of Prandtl and Glauert, below and above the speed of sound."""

import gradtape as tf


def lift(mach):
    below = 1.0 / tf.sqrt(1.0 - mach**2)  # <- nan_origin
    above = 4.0 / tf.sqrt(mach**2 - 1.0)
    return tf.where(mach < 1.0, below, above)


speeds = tf.Variable([0.3, 0.8, 1.4])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum((lift(speeds) - 1.5) ** 2)
print(loss, tape.gradient(loss, speeds))
