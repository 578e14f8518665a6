"""The first singular value decomposition in a new process, and its gradient."""

import numpy as np

KEY = "hs"
TITLE = "cold: first SVD with its gradient, 32 x 32"
MEASURE = "first step"
TARGETS = {"tensorflow_eager": 1.0}

MATRIX = np.random.default_rng(0).standard_normal((32, 32)).astype("float32")


def tensorflow_step(tf):
    x = tf.Variable(MATRIX)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sqrt(tf.linalg.svd(x, compute_uv=False)))
        return loss, tape.gradient(loss, x)

    return step


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def torch_eager():
    import torch

    x = torch.from_numpy(MATRIX).requires_grad_()

    def step():
        loss = torch.linalg.svdvals(x).sqrt().sum()
        return loss, torch.autograd.grad(loss, [x])

    return step


def jax_jit():
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(MATRIX)
    step = jax.jit(jax.value_and_grad(lambda x: jnp.sqrt(jnp.linalg.svd(x, compute_uv=False)).sum()))
    return lambda: step(x)
