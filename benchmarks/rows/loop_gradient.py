"""A loop of 1,000 trips over a vector of 64, and its gradients: a `for` over a range in a function."""

import numpy as np

KEY = "k"
TITLE = "gradient of a loop of 1,000 trips"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-3
TARGETS = {"jax_jit": 1.0}

SIZE = 64


def start():
    """Return the initial value of the loop, and its weights."""
    random = np.random.default_rng(0)
    return random.standard_normal(SIZE).astype("float32"), (0.1 * random.standard_normal(SIZE)).astype("float32")


def tensorflow_step(tf, trips):
    x, weight = map(tf.constant, start())

    @tf.function
    def gradients(x, weight):
        with tf.GradientTape() as tape:
            tape.watch([x, weight])
            value = x
            for _ in tf.range(trips):
                value = tf.sin(value * weight + x)
            loss = tf.reduce_sum(value)
        return tape.gradient(loss, [x, weight])

    return lambda: gradients(x, weight)


def gradtape(trips=1000):
    import gradtape as tf

    return tensorflow_step(tf, trips)


def tensorflow_function(trips=1000):
    import tensorflow as tf

    return tensorflow_step(tf, trips)


def torch_eager(trips=1000):
    import torch

    x, weight = [torch.tensor(array, requires_grad=True) for array in start()]

    def step():
        value = x
        for _ in range(trips):
            value = torch.sin(value * weight + x)
        return torch.autograd.grad(value.sum(), [x, weight])

    return step


def jax_jit(trips=1000):
    import jax
    import jax.numpy as jnp

    x, weight = map(jnp.asarray, start())

    def loss(x, weight):
        value, _ = jax.lax.scan(lambda value, _: (jnp.sin(value * weight + x), None), x, None, length=trips)
        return value.sum()

    gradients = jax.jit(jax.grad(loss, (0, 1)))
    return lambda: gradients(x, weight)
