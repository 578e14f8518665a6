"""10 layers of tanh of width 16, a batch of 8: repeated forward pass, backward pass and SGD."""

import numpy as np

KEY = "a"
TITLE = "10-layer MLP, width 16, batch 8: a training step"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 3
TOLERANCE = 1e-5
TARGETS = {"torch_eager": 0.3, "tensorflow_eager": 0.05, "tensorflow_function": 1.0, "jax_jit": 2.0}
WITH_RECORDING_IN_PYTHON = True

LAYERS, WIDTH, BATCH, RATE = 10, 16, 8, 0.01


def start():
    """Return inputs and weights, the same for all variants."""
    random = np.random.default_rng(0)
    x = random.standard_normal((BATCH, WIDTH)).astype("float32")
    return x, [(0.3 * random.standard_normal((WIDTH, WIDTH))).astype("float32") for _ in range(LAYERS)]


def as_written(function):
    return function


def tensorflow_step(tf, compiled=as_written):
    x, weights = start()
    x, weights = tf.constant(x), [tf.Variable(weight) for weight in weights]

    @compiled
    def train():
        with tf.GradientTape() as tape:
            values = x
            for weight in weights:
                values = tf.tanh(tf.matmul(values, weight))
            loss = tf.reduce_mean(values * values)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        return loss

    return lambda: (train(), weights)


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf, tf.function)


def torch_step(torch, compiled=as_written):
    x, weights = start()
    x, weights = torch.from_numpy(x), [torch.from_numpy(weight).requires_grad_() for weight in weights]

    @compiled
    def loss_of(x, *weights):
        values = x
        for weight in weights:
            values = torch.tanh(values @ weight)
        return (values * values).mean()

    @compiled
    def update(weights, gradients):
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.sub_(gradient, alpha=RATE)

    def train():
        loss = loss_of(x, *weights)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            update(weights, gradients)
        return loss

    return lambda: (train(), weights)


def torch_eager():
    import torch

    return torch_step(torch)


def torch_compile():
    import torch

    return torch_step(torch, torch.compile)


def jax_jit():
    import jax
    import jax.numpy as jnp

    x, weights = start()
    x, weights = jnp.asarray(x), [jnp.asarray(weight) for weight in weights]

    def loss_of(weights):
        values = x
        for weight in weights:
            values = jnp.tanh(values @ weight)
        return jnp.mean(values * values)

    @jax.jit
    def train(weights):
        loss, gradients = jax.value_and_grad(loss_of)(weights)
        return loss, [weight - RATE * gradient for weight, gradient in zip(weights, gradients, strict=True)]

    def step():
        nonlocal weights
        loss, weights = train(weights)
        return loss, weights

    return step
