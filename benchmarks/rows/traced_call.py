"""The cost of calling a traced function that does next to nothing, 50 times."""

import numpy as np

KEY = "o3"
TITLE = "50 calls of a traced function of one op on 4×4"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-6
TARGETS = {"tensorflow_function": 0.5, "jax_jit": 2.0}
WITH_RECORDING_IN_PYTHON = True

COUNT = 50


def start():
    """Return a matrix, the same for all variants."""
    return np.random.default_rng(0).standard_normal((4, 4)).astype("float32")


def step_of(function, x):
    def step():
        y = x
        for _ in range(COUNT):
            y = function(y)
        return y

    return step


def tensorflow_step(tf):
    return step_of(tf.function(lambda x: x + 1.0), tf.constant(start()))


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf)


def jax_jit():
    import jax
    import jax.numpy as jnp

    return step_of(jax.jit(lambda x: x + 1.0), jnp.asarray(start()))
