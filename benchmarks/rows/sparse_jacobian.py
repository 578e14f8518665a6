"""The Jacobian of a stencil over 10,000 points: three products by the pattern that gradtape finds; others compute it densely.

The sums of its columns are compared, so that no variant has to move 400 MB.
"""

import numpy as np

KEY = "sj"
TITLE = "Jacobian of a tridiagonal stencil, 10,000 points"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 0.01}

POINTS = 10_000


def start():
    return np.linspace(0, 1, POINTS, dtype="float32")


def gradtape():
    import gradtape as tf

    x = tf.constant(start())

    def stencil(x):
        left, right = tf.pad(x[:-1], [[1, 0]]), tf.pad(x[1:], [[0, 1]])
        return left - 2.0 * x + right + tf.exp(x)

    return lambda: np.asarray(tf.autodiff.sparse_jacobian(stencil, x).sum(0))[0]


def jax_jit():
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(start())

    def stencil(x):
        left, right = jnp.pad(x[:-1], (1, 0)), jnp.pad(x[1:], (0, 1))
        return left - 2.0 * x + right + jnp.exp(x)

    jacobian = jax.jit(jax.jacfwd(stencil))
    return lambda: jnp.sum(jacobian(x), 0)
