"""Words of which few occur."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential(
    [tf.keras.layers.Embedding(20, 4), tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(1)]
)
model.compile("adam", "mse")
words = np.array([[1, 2, 3], [3, 2, 0]])
model.fit(words, np.array([[1.0], [0.0]]), epochs=2, verbose=0)
