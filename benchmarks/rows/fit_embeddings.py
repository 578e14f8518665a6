"""Keras `fit`: twenty embeddings of 1,000 × 8, then dense layers, an epoch of 64 batches of 32."""

from benchmarks.keras_fit import BATCH, BATCHES, sides
from benchmarks.models import MODELS

KEY = "n5"
TITLE = "Keras fit: 20 embeddings of 1,000 × 8, 64 batches of 32"
TOLERANCE = 5e-2


def inputs():
    return MODELS["embeddings"].data(BATCH * BATCHES)[0]


globals().update(sides(MODELS["embeddings"].build, inputs))
TARGETS = {"keras_tensorflow": 0.5, "keras_jax": 1.5, "keras_torch": 1.0}
