"""A gate by a hard sigmoid that is closed."""

import gradtape as tf

gate = tf.Variable(-8.0)
with tf.GradientTape() as tape:
    opened = tf.keras.activations.hard_sigmoid(gate)  # <- saturated
    loss = (opened - 1.0) ** 2
print(tape.gradient(loss, gate))
# Advice: scale its input down
