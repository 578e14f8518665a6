"""The second derivative of a solution that is a straight line."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Input([1]), tf.keras.layers.Dense(1)])
x = tf.constant([[0.1], [0.5], [0.9]])
with tf.GradientTape() as second:
    second.watch(x)
    with tf.GradientTape() as first:
        first.watch(x)
        u = model(x)
    u_x = first.gradient(u, x)  # <- unused
u_xx = second.gradient(u_x, x)
print(u_xx)
# Advice: unconnected_gradients='zero'
