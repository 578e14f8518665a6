"""A function of 1,000 rows of 32, value and gradient, row by row: `map_fn`, compared with `jax.lax.map`."""

import numpy as np

KEY = "l"
TITLE = "map_fn over 1,000 rows: value and gradient"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 1.0}

ROWS, WIDTH = 1000, 32


def start():
    """Return the rows and the weights."""
    random = np.random.default_rng(0)
    rows = random.standard_normal((ROWS, WIDTH)).astype("float32")
    return rows, (0.2 * random.standard_normal((WIDTH, WIDTH))).astype("float32")


def tensorflow_step(tf, mapped):
    rows, weight = map(tf.constant, start())

    @tf.function
    def step(rows, weight):
        with tf.GradientTape() as tape:
            tape.watch([rows, weight])
            values = mapped(tf)(lambda row: tf.reduce_sum(tf.tanh(tf.linalg.matvec(weight, row)) ** 2), rows)
            loss = tf.reduce_sum(values)
        return tape.gradient(loss, [rows, weight])

    return lambda: step(rows, weight)


def jax_step(mapped):
    import jax
    import jax.numpy as jnp

    rows, weight = map(jnp.asarray, start())

    def loss(rows, weight):
        return mapped(jax)(lambda row: jnp.sum(jnp.tanh(weight @ row) ** 2), rows).sum()

    gradients = jax.jit(jax.grad(loss, (0, 1)))
    return lambda: gradients(rows, weight)


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf, lambda tf: tf.map_fn)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf, lambda tf: tf.map_fn)


def jax_jit():
    return jax_step(lambda jax: jax.lax.map)
