"""Keras `fit`: an MLP 64→128→128→10, an epoch of 64 batches of 32."""

import numpy as np

from benchmarks.keras_fit import BATCH, BATCHES, CLASSES, sides

KEY = "n"
TITLE = "Keras fit: MLP, 64 batches of 32"
TOLERANCE = 2e-2
WITH_RECORDING_IN_PYTHON = True


def build(keras):
    layers = keras.layers
    dense = [layers.Dense(128, activation="relu"), layers.Dense(128, activation="relu"), layers.Dense(CLASSES)]
    return keras.Sequential([layers.Input((64,)), *dense])


def inputs():
    return np.random.default_rng(1).standard_normal((BATCH * BATCHES, 64)).astype("float32")


globals().update(sides(build, inputs))
