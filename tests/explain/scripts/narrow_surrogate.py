"""A spiking layer with a surrogate gradient that I wrote; no weight changes."""

import gradtape as tf


@tf.custom_gradient
def spike(v):
    fired = tf.cast(v > 1.0, tf.float32)

    def surrogate(upstream):
        near = tf.cast(tf.abs(v - 1.0) < 0.05, tf.float32)
        return upstream * near  # <- zero_factor

    return fired, surrogate


class Spiking(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = tf.keras.layers.Dense(units, kernel_initializer="ones")

    def call(self, x):
        return spike(self.dense(x))


layer, readout = Spiking(4), tf.keras.layers.Dense(1)
x = tf.constant([[3.0, 4.0], [0.1, 0.2], [2.0, 2.5]])
y = tf.constant([[1.0], [0.0], [1.0]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((readout(layer(x)) - y) ** 2)
for gradient in tape.gradient(loss, layer.trainable_variables):
    print(gradient)
# Advice: give near other values
