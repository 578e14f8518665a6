"""Keras `fit`: a small convolutional net on images of 8×8, an epoch of 64 batches of 32."""

import numpy as np

from benchmarks.keras_fit import BATCH, BATCHES, CLASSES, sides

KEY = "n2"
TITLE = "Keras fit: small CNN on 8×8 digits, 64 batches of 32"
TOLERANCE = 2e-2


def build(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(CLASSES),
        ]
    )


def inputs():
    return np.random.default_rng(1).random((BATCH * BATCHES, 8, 8, 1)).astype("float32")


globals().update(sides(build, inputs))
