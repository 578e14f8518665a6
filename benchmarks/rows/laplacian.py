"""The Laplacian of a network 64-128-128-128-1 at 32 points: the kinetic energy of a wave function.

folx and gradtape compute it in forward mode. With JAX alone it is the trace of the Hessian.
"""

import itertools

import numpy as np

KEY = "lap"
TITLE = "Laplacian of a network with 64 inputs, at 32 points"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 1.0, "folx": 1.0}
PROCESSES = 3  # in some, the C library gives temporary memory back after each call: 530 page faults, and twice the time


def start():
    """Return the points and the weights of the network."""
    draw = np.random.default_rng(0).standard_normal
    sizes = (64, 128, 128, 128, 1)
    weights = [(draw(size) / size[0] ** 0.5).astype("float32") for size in itertools.pairwise(sizes)]
    return draw((32, 64)).astype("float32"), weights


def network(tanh, weights, x):
    *inner, last = weights
    for weight in inner:
        x = tanh(x @ weight)
    return (x @ last)[..., 0]


def gradtape():
    import gradtape as tf

    points, weights = start()
    points, weights = tf.constant(points), [tf.constant(w) for w in weights]

    def one(x):
        return tf.autodiff.laplacian(lambda x: network(tf.tanh, weights, x[None])[0], x)

    return tf.function(lambda: tf.vectorized_map(one, points))


def jax_jit():
    import jax
    import jax.numpy as jnp

    points, weights = start()
    points, weights = jnp.asarray(points), list(map(jnp.asarray, weights))

    def one(x):
        return jnp.trace(jax.hessian(lambda x: network(jnp.tanh, weights, x))(x))

    step = jax.jit(jax.vmap(one))
    return lambda: step(points)


def folx():
    import folx
    import jax
    import jax.numpy as jnp

    points, weights = start()
    points, weights = jnp.asarray(points), list(map(jnp.asarray, weights))
    step = jax.jit(jax.vmap(lambda x: folx.forward_laplacian(lambda x: network(jnp.tanh, weights, x))(x).laplacian))
    return lambda: step(points)
