"""Keras `fit`: a classifier of sequences of 40 tokens by an LSTM of 64 units, an epoch of 64 batches of 32."""

import numpy as np

from benchmarks.keras_fit import BATCH, BATCHES, CLASSES, sides

KEY = "n3"
TITLE = "Keras fit: LSTM classifier, 40 tokens, 64 batches of 32"
TOLERANCE = 2e-2

TOKENS, LENGTH = 1000, 40


def build(keras):
    layers = keras.layers
    body = [layers.Embedding(TOKENS, 32), layers.LSTM(64), layers.Dense(CLASSES)]
    return keras.Sequential([layers.Input((LENGTH,), dtype="int32"), *body])


def inputs():
    return np.random.default_rng(1).integers(0, TOKENS, (BATCH * BATCHES, LENGTH)).astype("int32")


globals().update(sides(build, inputs))
