"""A label of NaN in a regression by `fit`."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
labels = np.array([[1.0], [np.nan], [2.0], [0.5]], "float32")
model.fit(np.ones((4, 2), "float32"), labels, epochs=1, verbose=0)  # <- nan_origin
# Advice: look for NaN
