"""A model of mixed precision is trained by `fit`."""

import numpy as np

import gradtape as tf

tf.keras.utils.set_random_seed(0)  # a large first loss overflows float16, which the scale then mends
model = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(4, activation="tanh", dtype="mixed_float16"),
        tf.keras.layers.Dense(1, dtype="float32"),
    ]
)
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam())
model.compile(optimizer=optimizer, loss="mse")
model.fit(np.random.default_rng(0).normal(size=(8, 3)), np.ones((8, 1)), epochs=2, verbose=0)
