"""The energy of a pendulum that hangs down."""

import gradtape as tf

theta = tf.Variable(0.0)
with tf.GradientTape() as tape:
    height = 1.0 - tf.cos(theta)  # <- stationary
    energy = 9.81 * height
print(tape.gradient(energy, theta))
# Advice: start from another one
