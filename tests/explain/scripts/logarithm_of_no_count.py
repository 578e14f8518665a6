"""Counts in logarithms, of which one was zero."""

import numpy as np

import gradtape as tf

counts = np.array([[3.0, 10.0], [1.0, 0.0], [7.0, 2.0], [4.0, 4.0]], "float32")
with np.errstate(divide="ignore"):
    features = np.log(counts)
labels = np.array([0, 1, 0, 1])
model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(2)])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(features, labels, batch_size=4, epochs=1, verbose=0)  # <- nan_origin
# Advice: look for NaN and infinity in the data
