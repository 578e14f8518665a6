"""A recurrent model that is trained by `fit`."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential(
    [tf.keras.layers.Embedding(10, 4), tf.keras.layers.GRU(3), tf.keras.layers.Dropout(0.1), tf.keras.layers.Dense(1)]
)
model.compile("adam", "mse")
model.fit(np.array([[1, 2, 3], [4, 5, 6]]), np.ones((2, 1), "float32"), verbose=0)
