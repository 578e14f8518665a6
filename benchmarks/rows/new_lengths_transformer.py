"""Training of a small transformer on sentences of a new length in each step: 2 layers of first_step_transformer.py."""

import numpy as np

from benchmarks.rows.first_step_transformer import LENGTH, tensorflow_step, torch_step

KEY = "gt"
TITLE = "a new length in every step: transformer, 2 layers"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 2
STEPS, REPETITIONS = 8, 5
TOLERANCE = 1e-3
TARGETS = {"torch_eager": 4.0}

LAYERS = 2


def lengths():
    """Yield lengths in random order, repeating none before all have occurred."""
    while True:
        yield from (LENGTH // 2 + np.random.default_rng(0).permutation(3 * LENGTH // 2)).tolist()


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf, LAYERS, lengths())


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf, LAYERS, lengths())


def torch_eager():
    import torch

    return torch_step(torch, LAYERS, lengths())
