"""The cost of `np.asarray` for a tensor with a known value, 50 times."""

import numpy as np

KEY = "o2"
TITLE = "np.asarray of 50 tensors of 4×4"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 0
TARGETS = {"tensorflow_eager": 1.0}
WITH_RECORDING_IN_PYTHON = True

COUNT = 50


def start():
    """Return the matrices, the same for all variants."""
    return np.random.default_rng(0).standard_normal((COUNT, 4, 4)).astype("float32")


def step_of(tensors):
    def step():
        for tensor in tensors:
            array = np.asarray(tensor)
        return array

    return step


def tensorflow_step(tf):
    return step_of([tf.constant(array) * 1.0 for array in start()])


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def torch_eager():
    import torch

    return step_of([torch.from_numpy(array) * 1.0 for array in start()])


def jax_jit():
    import jax.numpy as jnp

    return step_of([jnp.asarray(array) * 1.0 for array in start()])
