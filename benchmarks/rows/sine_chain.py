"""A chain of 1,000 sines of one scalar: only the cost of ops, forward and backward."""

import numpy as np

KEY = "b"
TITLE = "chain of 1,000 scalar sines: value and gradient"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"torch_eager": 0.5}
WITH_RECORDING_IN_PYTHON = True
REFUSED = {"bfloat16": "1,000 roundings to bfloat16 leave no digit to compare"}

LENGTH = 1000


def start():
    return np.ones((), "float32")


def tensorflow_step(tf):
    x = tf.Variable(start())

    def step():
        with tf.GradientTape() as tape:
            y = tf.identity(x)
            for _ in range(LENGTH):
                y = tf.sin(y)
        return y, tape.gradient(y, x)

    return step


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tf.function(tensorflow_step(tf))


def torch_eager():
    import torch

    x = torch.from_numpy(start()).requires_grad_()

    def step():
        y = x
        for _ in range(LENGTH):
            y = torch.sin(y)
        return y, torch.autograd.grad(y, x)

    return step


def torch_compile():
    import torch

    x = torch.from_numpy(start()).requires_grad_()

    @torch.compile
    def chain(x):
        for _ in range(LENGTH):
            x = torch.sin(x)
        return x

    def step():
        y = chain(x)
        return y, torch.autograd.grad(y, x)

    return step


def jax_jit():
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(start())

    def chain(x):
        for _ in range(LENGTH):
            x = jnp.sin(x)
        return x

    value_and_gradient = jax.jit(jax.value_and_grad(chain))
    return lambda: value_and_gradient(x)
