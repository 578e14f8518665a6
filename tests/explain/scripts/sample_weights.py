"""Sample weights of an unsigned difference that are all 0."""

import numpy as np

import gradtape as tf

x, y = np.ones((4, 2), "float32"), np.ones((4, 1), "float32")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
weights = (y[:, 0] > 1.0).astype("float32")
model.fit(x, y, sample_weight=weights, epochs=1, verbose=0)  # <- zero_factor
# Advice: check that factor
