"""A normalization by the root mean square, of a row of zeros."""

import gradtape as tf


class RootMeanSquare(tf.keras.layers.Layer):
    def build(self, shape):
        self.gain = self.add_weight(name="gain", shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return self.gain * x * tf.math.rsqrt(tf.reduce_mean(x**2, axis=-1, keepdims=True))  # <- nan_origin


norm, dense = RootMeanSquare(), tf.keras.layers.Dense(3, use_bias=False)
x = tf.constant([[1.0, 2.0], [0.0, 0.0]])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((norm(dense(x)) - 1.0) ** 2)
print(tape.gradient(loss, dense.trainable_variables + norm.trainable_variables))
