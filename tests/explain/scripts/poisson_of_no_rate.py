"""A Poisson loss by hand, of a rectified rate."""

import numpy as np

import gradtape as tf


class Poisson(tf.keras.losses.Loss):
    def call(self, counts, rate):
        return tf.reduce_mean(rate - counts * tf.math.log(rate), axis=-1)  # <- nan_origin


model = tf.keras.Sequential([tf.keras.layers.Input([1]), tf.keras.layers.Dense(1, activation="relu", kernel_initializer="ones")])
model.compile(optimizer="sgd", loss=Poisson())
x = np.array([[1.0], [-2.0], [3.0]], "float32")
model.fit(x, np.array([[1.0], [0.0], [2.0]], "float32"), batch_size=3, epochs=1, verbose=0)
