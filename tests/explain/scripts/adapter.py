"""A low-rank adapter that starts at zero."""

import numpy as np

import gradtape as tf


class Adapted(tf.keras.layers.Layer):
    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 3), trainable=False, name="kernel")
        self.down = self.add_weight(shape=(shape[-1], 2), initializer="glorot_uniform", name="down")
        self.up = self.add_weight(shape=(2, 3), initializer="zeros", name="up")

    def call(self, x):
        return x @ self.kernel + (x @ self.down) @ self.up  # <- zero_factor


model = tf.keras.Sequential([Adapted()])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(np.ones((4, 5), "float32"), np.ones((4, 3), "float32"), verbose=0)
# Advice: start model.layers[0].up
