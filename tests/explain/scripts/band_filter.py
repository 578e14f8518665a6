"""A layer of band filters for sound, each a difference of two sines over the time."""

import numpy as np

import gradtape as tf


class Band(tf.keras.layers.Layer):
    def __init__(self, low, width):
        super().__init__()
        self.low = self.add_weight(name="low", shape=(), initializer=tf.keras.initializers.Constant(low))
        self.width = self.add_weight(name="width", shape=(), initializer=tf.keras.initializers.Constant(width))
        self.times = tf.range(-3.0, 4.0)

    def taps(self, frequency):
        return tf.sin(2.0 * np.pi * frequency * self.times) / (np.pi * self.times)  # <- nan_origin

    def call(self, sound):
        kernel = self.taps(self.low + self.width) - self.taps(self.low)
        return tf.nn.conv1d(sound, kernel[:, None, None], 1, "SAME")


band = Band(0.1, 0.2)
sound = tf.random.normal([2, 16, 1])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(band(sound) ** 2)
print(tape.gradient(loss, band.trainable_variables))
# Fix: self.times == 0.0, self.times + 1e-3
