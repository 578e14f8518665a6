"""A branch whose values become rows of an embedding."""

import numpy as np

import gradtape as tf


class Bins(tf.keras.layers.Layer):
    def call(self, x):
        return tf.clip_by_value(tf.cast(5.0 * x + 5.0, tf.int32), 0, 9)  # <- not_floating


inputs = tf.keras.Input((4,))
left = tf.keras.layers.Dense(10, activation="tanh")(inputs)
left = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(10, 5)(Bins()(left)))
right = tf.keras.layers.Dense(3, activation="relu")(inputs)
outputs = tf.keras.layers.Dense(1)(tf.keras.layers.Concatenate()([left, right]))
model = tf.keras.Model(inputs, outputs)
model.compile("adam", "mse")
rng = np.random.default_rng(0)
model.fit(rng.normal(size=(8, 4)), np.ones((8, 1)), batch_size=8, epochs=1, verbose=0)
# Advice: interpolate
