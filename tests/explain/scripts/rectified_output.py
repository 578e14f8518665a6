"""A regression whose output is rectified, of targets below zero."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential(
    [
        tf.keras.layers.Input([2]),
        tf.keras.layers.Dense(3, activation="softplus", kernel_initializer="ones"),
        tf.keras.layers.Dense(1, activation="relu", kernel_initializer=tf.keras.initializers.Constant(-1.0)),
    ]
)
model.compile("sgd", "mse")
model.fit(np.ones((4, 2), "float32"), -np.ones((4, 1), "float32"), epochs=1, verbose=0)  # <- dead_relu
# Advice: leaky_relu
