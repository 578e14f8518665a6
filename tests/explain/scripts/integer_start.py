"""A variable that starts as an integer."""

import gradtape as tf

x = tf.Variable(3)  # <- not_floating
optimizer = tf.keras.optimizers.SGD(0.1)
with tf.GradientTape() as tape:
    y = x * x + 2 * x
print(tape.gradient(y, x))
