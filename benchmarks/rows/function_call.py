"""The training step of row (a) as a function in all variants: the cost of calling a compiled step."""

import numpy as np

KEY = "j"
TITLE = "a call of a compiled training step: 10-layer MLP, width 16, batch 8"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 3
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 1.15}
WITH_RECORDING_IN_PYTHON = True
COUNTED = False

LAYERS, WIDTH, BATCH, RATE = 10, 16, 8, 0.01


def start():
    """Return the batch and the weights."""
    random = np.random.default_rng(0)
    batch = random.standard_normal((BATCH, WIDTH)).astype("float32")
    return batch, [(0.3 * random.standard_normal((WIDTH, WIDTH))).astype("float32") for _ in range(LAYERS)]


def tensorflow_step(tf):
    batch, weights = start()
    batch, weights = tf.constant(batch), [tf.Variable(weight) for weight in weights]

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            values = x
            for weight in weights:
                values = tf.tanh(tf.matmul(values, weight))
            loss = tf.reduce_mean(values * values)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        return loss

    return lambda: train(batch)


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf)


def jax_jit():
    import jax
    import jax.numpy as jnp

    batch, weights = start()
    batch, state = jnp.asarray(batch), [[jnp.asarray(weight) for weight in weights]]

    def loss_of(weights, x):
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return jnp.mean(x * x)

    @jax.jit
    def train(weights, x):
        loss, gradients = jax.value_and_grad(loss_of)(weights, x)
        return [weight - RATE * gradient for weight, gradient in zip(weights, gradients, strict=True)], loss

    def step():
        state[0], loss = train(state[0], batch)
        return loss

    return step
