"""Keras's AugMix in eager code: a chain of operations that is drawn in each call."""

import numpy as np

KEY = "au"
TITLE = "Keras AugMix, a call, 8 images of 32 x 32"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 1
STEPS, REPETITIONS = 3, 3
TOLERANCE = np.inf  # each variant draws the chains with its own generator
TARGETS = {"keras_tensorflow": 2.0}


def augmented(backend):
    import os

    os.environ["KERAS_BACKEND"] = backend
    import keras

    layer = keras.layers.AugMix(seed=1)
    images = keras.ops.convert_to_tensor(np.random.default_rng(0).uniform(0, 255, (8, 32, 32, 3)).astype("float32"))
    return lambda: layer(images, training=True)


def gradtape():
    return augmented("gradtape")


def keras_tensorflow():
    return augmented("tensorflow")


def keras_jax():
    return augmented("jax")
