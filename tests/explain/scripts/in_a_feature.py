"""A table with a missing value."""

import numpy as np

import gradtape as tf

table = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, 5.0], [6.0, 7.0]], "float32")
labels = np.array([[1.0], [0.0], [1.0], [0.0]], "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(table, labels, batch_size=4, epochs=1, verbose=0)  # <- nan_origin
# Advice: look for NaN
