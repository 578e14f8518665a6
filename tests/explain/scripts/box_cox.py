"""The exponent of a Box-Cox transform is learned; it starts at zero."""

import gradtape as tf


class BoxCox(tf.keras.layers.Layer):
    def build(self, shape):
        self.power = self.add_weight(shape=(), initializer="zeros", name="power")

    def call(self, x):
        return (x**self.power - 1.0) / self.power  # <- nan_origin


layer = BoxCox()
incomes = tf.constant([[1.0], [4.0], [9.0]])
layer.build(incomes.shape)
with tf.GradientTape() as tape:
    transformed = layer(incomes)
    centered = transformed - tf.reduce_mean(transformed)
    loss = tf.reduce_mean(centered**3) ** 2
print(loss, tape.gradient(loss, layer.trainable_variables))
# Fix: self.power + 1e-3
