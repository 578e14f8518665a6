"""A pass over a dataset with `map` over single elements, and then `batch` where a training would use batches."""

from functools import partial
from types import SimpleNamespace

import numpy as np

COUNT, IMAGES = 2048, 512
WHICH = {
    "scalars": "2,048 scalars",
    "vectors": "2,048 vectors of 16, in batches of 32",
    "images": "512 images of 32 × 32 × 3 and labels, in batches of 32",
}


def of(which):
    """Return the row of one dataset."""
    number = 1 + list(WHICH).index(which)
    return SimpleNamespace(
        KEY=f"dm{number}" if number > 1 else "dm",
        TITLE=f"tf.data: map of {WHICH[which]}",
        MEASURE="time per step",
        CHECKED_STEPS=1,
        TOLERANCE=1e-5,
        TARGETS={"tensorflow_eager": 1.0},
        gradtape=partial(gradtape, which),
        tensorflow_eager=partial(tensorflow_eager, which),
    )


def scalars(tf):
    return tf.data.Dataset.range(COUNT).map(lambda x: x * x + 1)


def vectors(tf):
    rows = np.random.default_rng(0).random((COUNT, 16), "float32")
    standardised = tf.data.Dataset.from_tensor_slices(rows).map(lambda x: (x - tf.reduce_mean(x)) / tf.math.reduce_std(x))
    return standardised.batch(32)


def images(tf):
    random = np.random.default_rng(0)
    given = random.integers(0, 256, (IMAGES, 32, 32, 3)).astype("uint8"), random.integers(0, 10, IMAGES)
    slices = tf.data.Dataset.from_tensor_slices(given)
    return slices.map(lambda x, y: (tf.image.resize(tf.cast(x, tf.float32) / 255.0, [24, 24]), tf.one_hot(y, 10))).batch(32)


def a_pass(tf, which):
    """Return the step: a pass over all elements that returns the last one."""
    dataset = globals()[which](tf)

    def step():
        for element in dataset:
            last = element
        return last

    return step


def gradtape(which):
    import gradtape as tf

    return a_pass(tf, which)


def tensorflow_eager(which):
    import tensorflow as tf

    return a_pass(tf, which)
