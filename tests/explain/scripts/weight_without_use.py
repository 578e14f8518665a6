"""A layer with a weight that its call leaves out."""

import numpy as np

import gradtape as tf


class Scaled(tf.keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(name="scale", shape=(shape[-1],), initializer="ones")
        self.shift = self.add_weight(name="shift", shape=(shape[-1],), initializer="zeros")

    def call(self, x):
        return x * self.scale


model = tf.keras.Sequential([tf.keras.layers.Dense(3), Scaled()])
model.compile("adam", "mse")
model.fit(np.ones((4, 2)), np.ones((4, 3)), epochs=1, verbose=0)  # <- unused
# Advice: compute the target from
