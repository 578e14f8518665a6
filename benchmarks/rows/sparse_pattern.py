"""The pattern and the colours of a 5-point residual with 100,000 unknowns, found anew in each step: each grid is one line longer.

What is compared is the number of entries.
"""

import itertools

import numpy as np

KEY = "sp"
TITLE = "pattern and colours of a 5-point residual, 100,000 unknowns, found anew"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 0.0
TARGETS = {"asdex": 1.0}

SIDE = 316


def gradtape():
    import gradtape as tf

    lines = itertools.count(SIDE)

    def step():
        shape = [next(lines), SIDE]

        def residual(x):
            u = tf.pad(tf.reshape(x, shape), [[1, 1], [1, 1]])
            inner = u[1:-1, 1:-1]
            return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner + tf.exp(inner)

        return np.float64(len(tf.autodiff.jacobian_sparsity(residual, tf.zeros([shape[0] * SIDE])).rows))

    return step


def asdex():
    import asdex as library
    import jax.numpy as jnp

    lines = itertools.count(SIDE)

    def step():
        shape = [next(lines), SIDE]

        def residual(x):
            u = jnp.pad(x.reshape(shape), 1)
            inner = u[1:-1, 1:-1]
            return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * inner + jnp.exp(inner)

        return np.float64(library.jacobian_coloring(residual, jnp.zeros(shape[0] * SIDE)).sparsity.nnz)

    return step
