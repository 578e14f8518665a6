"""The deviation of a constant column."""

import numpy as np

import gradtape as tf


class Standardize(tf.keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1],), initializer="ones", name="w")

    def call(self, x):
        x = x * self.w
        mean = tf.reduce_mean(x, axis=0)
        var = tf.reduce_mean((x - mean) ** 2, axis=0)
        return (x - mean) / tf.sqrt(var)  # <- nan_origin


model = tf.keras.Sequential([Standardize(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
data[:, 1] = 4.0
model.fit(data, np.ones((8, 1), "float32"), batch_size=8, verbose=0)
