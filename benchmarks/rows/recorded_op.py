"""The cost of recording an op whose result is never read: 50 products of two small tensors under a tape."""

import numpy as np

KEY = "o"
TITLE = "50 products of 4×4 under a tape, their results dropped"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 0
TARGETS = {"torch_eager": 0.5, "tensorflow_eager": 0.05}
WITH_RECORDING_IN_PYTHON = True

COUNT = 50


def start():
    """Return two matrices, the same for all variants."""
    random = np.random.default_rng(0)
    return random.standard_normal((2, 4, 4)).astype("float32")


def tensorflow_step(tf):
    x, y = map(tf.constant, start())

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            for _ in range(COUNT):
                x * y
        return x

    return step


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def torch_eager():
    import torch

    x, y = map(torch.from_numpy, start())
    x.requires_grad_()

    def step():
        for _ in range(COUNT):
            x * y
        return x

    return step
