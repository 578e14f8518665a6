"""An LSTM over 50 steps, batch 32, 64 → 128: gradients of the mean square of its outputs to input and weights."""

import numpy as np

KEY = "m"
TITLE = "LSTM, 50 steps × batch 32 × 64→128: all gradients"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-3
TARGETS = {"torch_eager": 1.0, "jax_jit": 1.0}

STEPS_OF_TIME, BATCH, INPUTS, UNITS = 50, 32, 64, 128


def start():
    """Return the input, and the weights of input, state and bias; gates in PyTorch's order: input, forget, cell, output."""
    random = np.random.default_rng(0)
    shapes = [(STEPS_OF_TIME, BATCH, INPUTS), (INPUTS, 4 * UNITS), (UNITS, 4 * UNITS), (4 * UNITS,)]
    scales = [1.0, 0.1, 0.1, 0.0]
    return [(scale * random.standard_normal(shape)).astype("float32") for scale, shape in zip(scales, shapes, strict=True)]


def tensorflow_step(tf):
    x, kernel, recurrent, bias = map(tf.constant, start())

    @tf.function
    def gradients(x, kernel, recurrent, bias):
        with tf.GradientTape() as tape:
            tape.watch([x, kernel, recurrent, bias])
            inputs = tf.tensordot(x, kernel, 1) + bias

            def cell(state, z):
                hidden, memory = state
                i, f, g, o = tf.split(z + tf.matmul(hidden, recurrent), 4, axis=1)
                memory = tf.sigmoid(f) * memory + tf.sigmoid(i) * tf.tanh(g)
                return tf.sigmoid(o) * tf.tanh(memory), memory

            zeros = tf.zeros([BATCH, UNITS], x.dtype)
            hidden, _ = tf.scan(cell, inputs, (zeros, zeros))
            loss = tf.reduce_mean(hidden * hidden)
        return tape.gradient(loss, [x, kernel, recurrent, bias])

    return lambda: gradients(x, kernel, recurrent, bias)


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf)


def torch_eager():
    import torch

    x, kernel, recurrent, bias = [torch.from_numpy(array) for array in start()]
    lstm = torch.nn.LSTM(INPUTS, UNITS)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(kernel.T)
        lstm.weight_hh_l0.copy_(recurrent.T)
        lstm.bias_ih_l0.copy_(bias)
        lstm.bias_hh_l0.zero_()
    x.requires_grad_()

    def step():
        hidden, _ = lstm(x)
        d_x, d_kernel, d_recurrent, d_bias = torch.autograd.grad(
            (hidden * hidden).mean(), [x, lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0]
        )
        return d_x, d_kernel.T, d_recurrent.T, d_bias

    return step


def jax_jit():
    import jax
    import jax.numpy as jnp

    x, kernel, recurrent, bias = map(jnp.asarray, start())

    def loss(x, kernel, recurrent, bias):
        def cell(state, z):
            hidden, memory = state
            i, f, g, o = jnp.split(z + hidden @ recurrent, 4, axis=1)
            memory = jax.nn.sigmoid(f) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
            return (hidden, memory), hidden

        zeros = jnp.zeros((BATCH, UNITS), x.dtype)
        _, hidden = jax.lax.scan(cell, (zeros, zeros), x @ kernel + bias)
        return jnp.mean(hidden * hidden)

    gradients = jax.jit(jax.grad(loss, (0, 1, 2, 3)))
    return lambda: gradients(x, kernel, recurrent, bias)
