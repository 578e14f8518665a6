"""A fixed point of 200 unknowns, z = tanh(W z + b), and its gradient to W and b."""

import numpy as np

KEY = "fp"
TITLE = "gradient of a fixed point of 200 unknowns"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-6
TARGETS = {"optimistix": 0.5}
PROCESSES = 3  # on a busy machine some take three times as long as others, from start to end

COUNT = 200


def start():
    """The matrix, which contracts, and the vector."""
    draw = np.random.default_rng(0).standard_normal
    return 0.4 * draw((COUNT, COUNT)) / COUNT**0.5, draw(COUNT)


def gradtape():
    import gradtape as tf

    w, b = map(tf.Variable, start())
    first = tf.zeros([COUNT], tf.float64)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            z = tf.autodiff.fixed_point(lambda z: tf.tanh(tf.linalg.matvec(w, z) + b), first, tolerance=1e-10)
            loss = tf.reduce_sum(z**2)
        return tape.gradient(loss, [w, b])

    return step


def optimistix():
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    jax.config.update("jax_enable_x64", True)
    given = tuple(map(jnp.asarray, start()))
    solver = optx.FixedPointIteration(rtol=1e-10, atol=1e-10)

    def loss(given):
        z = optx.fixed_point(lambda z, wb: jnp.tanh(wb[0] @ z + wb[1]), solver, jnp.zeros(COUNT), given, max_steps=1000).value
        return jnp.sum(z**2)

    gradient = jax.jit(jax.grad(loss))
    return lambda: gradient(given)
