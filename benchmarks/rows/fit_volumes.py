"""Keras `fit`: two three-dimensional convolutions with pooling, an epoch of 16 batches of 32."""

from benchmarks.keras_fit import BATCH, sides
from benchmarks.models import MODELS

KEY = "n6"
TITLE = "Keras fit: two Conv3D with pooling on 16 × 16 × 16, 16 batches of 32"
TOLERANCE = 2e-2


def inputs():
    return MODELS["volumes"].data(16 * BATCH)[0]


globals().update(sides(MODELS["volumes"].build, inputs))
