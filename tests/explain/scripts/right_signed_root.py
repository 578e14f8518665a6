"""The signed root of bilinear features, some of which are 0."""

import numpy as np

import gradtape as tf


class SignedRoot(tf.keras.layers.Layer):
    def call(self, x):
        return tf.sign(x) * tf.sqrt(tf.abs(x))


model = tf.keras.Sequential(
    [tf.keras.layers.Dense(4, activation="relu", kernel_initializer="ones"), SignedRoot(), tf.keras.layers.Dense(1)]
)
model.compile(optimizer="sgd", loss="mse")
model.fit(np.array([[1.0, -2.0], [2.0, 1.0]], "float32"), np.ones((2, 1), "float32"), epochs=1, verbose=0)
