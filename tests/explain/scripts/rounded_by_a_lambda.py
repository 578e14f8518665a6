"""A Lambda layer rounds a code in a functional model."""

import numpy as np

import gradtape as tf

inputs = tf.keras.Input([4])
code = tf.keras.layers.Dense(3, activation="sigmoid", name="encoder")(inputs)
bits = tf.keras.layers.Lambda(lambda t: tf.round(t))(code)  # <- not_differentiable
outputs = tf.keras.layers.Dense(4, name="decoder")(bits)
model = tf.keras.Model(inputs, outputs)
model.compile("adam", "mse")
x = np.random.default_rng(3).normal(size=(8, 4)).astype("float32")
model.fit(x, x, epochs=1, batch_size=8, verbose=0)
# Advice: t + tf.stop_gradient(tf.round(t) - t)
