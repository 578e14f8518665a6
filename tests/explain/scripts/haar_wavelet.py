"""A layer that computes the first level of a wavelet by NumPy."""

import numpy as np

import gradtape as tf


def haar(signals):
    pairs = signals.reshape(len(signals), -1, 2)
    return np.concatenate([pairs.sum(-1), pairs[..., 0] - pairs[..., 1]], axis=1) / np.float32(np.sqrt(2.0))


class Haar(tf.keras.layers.Layer):
    def call(self, signals):
        waves = tf.numpy_function(haar, [signals], tf.float32)  # <- left_library
        return tf.ensure_shape(waves, signals.shape)


front, back = tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)
model = tf.keras.Sequential([front, Haar(), back])
x, y = tf.random.normal([6, 4]), tf.random.normal([6, 1])
model(x)


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    return tape.gradient(loss, model.trainable_variables)


print([g is None for g in train(x, y)])
# Advice: tf.* counterparts
