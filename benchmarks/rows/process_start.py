"""The time from the start of the process, including the import, to the first gradient: d(x·x)/dx at 3."""

KEY = "e"
TITLE = "process start to first gradient"
MEASURE = "process start"
TARGETS = {"tensorflow_eager": 1.0}
LIMIT = 1.0


def tensorflow_step(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, x)


def gradtape():
    def step():
        import gradtape as tf

        return tensorflow_step(tf)

    return step


def tensorflow_eager():
    def step():
        import tensorflow as tf

        return tensorflow_step(tf)

    return step


def torch_eager():
    def step():
        import torch

        x = torch.tensor(3.0, requires_grad=True)
        return torch.autograd.grad(x * x, x)

    return step


def jax_jit():
    def step():
        import jax
        import jax.numpy as jnp

        return jax.jit(jax.grad(lambda x: x * x))(jnp.float32(3))

    return step
