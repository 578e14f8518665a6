"""Gradients by the input of a model, which is a NumPy array."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
image = np.random.default_rng(0).normal(size=(1, 8)).astype("float32")
x = tf.convert_to_tensor(image)  # <- not_watched
with tf.GradientTape() as tape:
    score = model(x)[0, 1]
tape.gradient(score, x)
