"""A `while` loop with a condition on values (800 trips), and its gradients. No other peers can compute them."""

import numpy as np

KEY = "kw"
TITLE = "gradient of a while loop, whose condition ends it after 800 trips"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-3
TARGETS = {"tensorflow_function": 0.1, "torch_eager": 1.0}

SIZE, GROWTH = 64, 1.001


def start():
    """Return the initial value of the loop."""
    return np.random.default_rng(0).uniform(0.9, 1.0, SIZE).astype("float32")


def limit():
    """Return the sum of squares in trip 800."""
    return float((start().astype("float64") ** 2).sum() * GROWTH ** (2 * 799.5))


def tensorflow_step(tf):
    x, end = tf.constant(start()), limit()

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = x
            while tf.reduce_sum(value * value) < end:
                value = value * GROWTH
            loss = tf.reduce_sum(value * value)
        return tape.gradient(loss, x)

    return lambda: gradient(x)


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf)


def torch_eager():
    import torch

    x, end = torch.tensor(start(), requires_grad=True), limit()

    def step():
        value = x
        while (value * value).sum() < end:
            value = value * GROWTH
        return torch.autograd.grad((value * value).sum(), x)

    return step
