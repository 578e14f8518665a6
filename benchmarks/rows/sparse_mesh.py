"""The Hessian of an energy on triangles between 2,025 random points, as finite elements have it, in a function.

What is compared are the entries, row by row.
"""

import numpy as np

KEY = "sm"
TITLE = "Hessian of an energy on a mesh of 2,025 points, its entries"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-10
TARGETS = {"asdex": 1.0}
PROCESSES = 3  # on a busy machine some take three times as long as others, from start to end

POINTS = 2_025


def start():
    """The triangles, and a number at each point."""
    from scipy.spatial import Delaunay

    draw = np.random.default_rng(0)
    return Delaunay(draw.random((POINTS, 2))).simplices, draw.random(POINTS)


def gradtape():
    import gradtape as tf

    triangles, x = start()
    x = tf.constant(x)

    def energy(x):
        u = tf.gather(x, triangles)
        return tf.reduce_sum((u[:, 0] - u[:, 1]) ** 4 + (u[:, 1] - u[:, 2]) ** 4 + (u[:, 0] * u[:, 2]) ** 2)

    matrix = tf.function(lambda x: tf.autodiff.sparse_hessian(energy, x, format="tensor").values)
    return lambda: matrix(x)


def asdex():
    import asdex as library
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    triangles, x = start()
    x = jnp.asarray(x)

    def energy(x):
        u = x[triangles]
        return jnp.sum((u[:, 0] - u[:, 1]) ** 4 + (u[:, 1] - u[:, 2]) ** 4 + (u[:, 0] * u[:, 2]) ** 2)

    matrix = jax.jit(library.hessian_from_coloring(energy, library.hessian_coloring(energy, x)))
    return lambda: matrix(x).data
