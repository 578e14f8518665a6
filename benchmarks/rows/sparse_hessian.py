"""The Hessian of a chain of 2,000 variables: gradtape needs few products by its pattern, others compute all columns."""

import numpy as np

KEY = "sh"
TITLE = "Hessian of a chain of 2,000 variables, which has three diagonals"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 0.1}

POINTS = 2_000


def start():
    return np.linspace(0, 1, POINTS, dtype="float32")


def gradtape():
    import gradtape as tf

    x = tf.constant(start())

    def energy(x):
        return tf.reduce_sum((x[1:] - x[:-1]) ** 4) + tf.reduce_sum(tf.exp(x))

    return lambda: np.asarray(tf.autodiff.sparse_hessian(energy, x).sum(0))[0]


def jax_jit():
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(start())

    def energy(x):
        return jnp.sum((x[1:] - x[:-1]) ** 4) + jnp.sum(jnp.exp(x))

    hessian = jax.jit(lambda x: jnp.sum(jax.hessian(energy)(x), 0))
    return lambda: hessian(x)
