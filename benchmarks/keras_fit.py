"""The common part of the rows of Keras's `fit`: one epoch of a model on one of Keras's backends."""

import os
from functools import partial

import numpy as np

BATCH, BATCHES, CLASSES = 32, 64, 10


def compiled(backend, build):
    """Return the compiled model of `build(keras)` on `backend`, with the same weights on each backend."""
    os.environ["KERAS_BACKEND"] = backend
    import keras

    random = np.random.default_rng(0)
    model = build(keras)
    shapes = [weight.shape for weight in model.get_weights()]
    drawn = [0.1 * random.standard_normal(shape) + (1.0 if len(shape) == 1 else 0.0) for shape in shapes]
    model.set_weights([weight.astype("float32") for weight in drawn])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
    return model


def epoch(backend, build, inputs, targets):
    """Return a step: an epoch of `fit` on `backend` that returns the weights. `build(keras)` creates the model."""
    model = compiled(backend, build)

    def fit():
        model.fit(inputs, targets, batch_size=BATCH, epochs=1, verbose=0, shuffle=False)
        return model.get_weights()

    return fit


BACKENDS = {"gradtape": "gradtape", "keras_tensorflow": "tensorflow", "keras_jax": "jax", "keras_torch": "torch"}  # by variant


def sides(build, inputs):
    """Return the common attributes of these rows: method, targets, and functions for gradtape and Keras's own backends."""
    measured = {"MEASURE": "time per step", "STEPS_DEPEND": True, "CHECKED_STEPS": 1}
    targets = {"TARGETS": {"keras_tensorflow": 1.0, "keras_jax": 1.0, "keras_torch": 1.0}}

    def on(backend):
        given = inputs()
        return epoch(backend, build, given, np.random.default_rng(2).integers(0, CLASSES, len(given)))

    return measured | targets | {name: partial(on, backend) for name, backend in BACKENDS.items()}


def fitting(model, rate, inputs, targets, read):
    """Return a step of `fit` with gradient descent on one batch, which returns the mean loss and the variables `read`.

    Its `many(count)` is a call of `fit` with `count` steps.
    """
    import keras

    model.compile(keras.optimizers.SGD(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def many(count):
        batches = ((inputs, targets) for _ in range(count))
        history = model.fit(batches, steps_per_epoch=count, epochs=1, verbose=0, shuffle=False)
        return history.history["loss"][0], [variable.value for variable in read]

    def step():
        return many(1)

    step.many = many
    return step
