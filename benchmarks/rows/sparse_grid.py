"""The Jacobian of a 5-point residual on a grid of 100 × 100 in a function: five products with the pattern that gradtape finds.

asdex has colours for seven. What is compared are the entries, row by row.
"""

import numpy as np

KEY = "sg"
TITLE = "Jacobian of a 5-point residual on 100 × 100, its entries"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-10
TARGETS = {"asdex": 1.0}
PROCESSES = 3  # on a busy machine some take three times as long as others, from start to end

SIDE = 100


def start():
    return np.random.default_rng(0).random(SIDE * SIDE)


def gradtape():
    import gradtape as tf

    x = tf.constant(start())

    def residual(x):
        u = tf.pad(tf.reshape(x, [SIDE, SIDE]), [[1, 1], [1, 1]])
        inner = u[1:-1, 1:-1]
        return tf.reshape(u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner + tf.exp(inner), [-1])

    matrix = tf.function(lambda x: tf.autodiff.sparse_jacobian(residual, x, format="tensor").values)
    return lambda: matrix(x)


def asdex():
    import asdex as library
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x = jnp.asarray(start())

    def residual(x):
        u = jnp.pad(x.reshape(SIDE, SIDE), 1)
        inner = u[1:-1, 1:-1]
        return (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner + jnp.exp(inner)).reshape(-1)

    matrix = jax.jit(library.jacobian_from_coloring(residual, library.jacobian_coloring(residual, x)))
    return lambda: matrix(x).data
