"""Keras `fit`: a transformer of 4 layers, 64 wide, on 32 tokens, an epoch of 64 batches of 32."""

import numpy as np

from benchmarks.keras_fit import BATCH, BATCHES, CLASSES, sides

KEY = "n4"
TITLE = "Keras fit: transformer, 4 layers, 64 batches of 32"
TOLERANCE = 5e-2

TOKENS, LENGTH, WIDTH = 1000, 32, 64


def build(keras):
    layers = keras.layers
    tokens = layers.Input((LENGTH,), dtype="int32")
    x = layers.Embedding(TOKENS, WIDTH)(tokens)
    for _ in range(4):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, WIDTH // 4)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(WIDTH)(layers.Dense(2 * WIDTH, activation="gelu")(x)))
    return keras.Model(tokens, layers.Dense(CLASSES)(layers.GlobalAveragePooling1D()(x)))


def inputs():
    return np.random.default_rng(1).integers(0, TOKENS, (BATCH * BATCHES, LENGTH)).astype("int32")


globals().update(sides(build, inputs))
