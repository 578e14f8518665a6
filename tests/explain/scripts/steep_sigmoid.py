"""A sigmoid that is steep enough to be a step."""

import gradtape as tf

x = tf.Variable([0.7, -0.4])
with tf.GradientTape() as tape:
    y = tf.sigmoid(1000.0 * x)  # <- saturated
    loss = tf.reduce_sum((y - 0.5) ** 2)
print(tape.gradient(loss, x))
# Advice: scale its input down
