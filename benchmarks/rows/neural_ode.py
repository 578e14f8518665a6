"""The gradient of a neural differential equation: 64 states of 8 numbers, a network of 8-32-8, from 0 to 4, tolerance 1e-6.

JAX's own `odeint` integrates the adjoint equation backwards, so its gradient is only as accurate as the tolerance. Diffrax has
the same method, and like gradtape differentiates the steps that were taken.
"""

import numpy as np

KEY = "ode"
TITLE = "gradient of a neural differential equation, adaptive steps"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-3
TARGETS = {"jax_jit": 1.0, "diffrax": 1.0}

DIGITS = {"rtol": 1e-6, "atol": 1e-6}


def start():
    """Return the states and the weights of the network."""
    draw = np.random.default_rng(0).standard_normal
    return draw((64, 8)), 0.5 * draw((8, 32)), 0.2 * draw((32, 8))


def gradtape():
    import gradtape as tf

    states, first, second = start()
    first, second = tf.Variable(first), tf.Variable(second)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            y = tf.autodiff.odeint(lambda t, y: tf.tanh(y @ first) @ second - 0.1 * y, tf.constant(states), [0.0, 4.0], **DIGITS)
            loss = tf.reduce_sum(y[-1] ** 2)
        return tape.gradient(loss, [first, second])

    return step


def jax_jit():
    import jax
    import jax.numpy as jnp
    from jax.experimental.ode import odeint

    jax.config.update("jax_enable_x64", True)
    states, *weights = map(jnp.asarray, start())

    def loss(weights):
        first, second = weights
        y = odeint(lambda y, t: jnp.tanh(y @ first) @ second - 0.1 * y, states, jnp.array([0.0, 4.0]), **DIGITS)
        return jnp.sum(y[-1] ** 2)

    gradient = jax.jit(jax.grad(loss))
    return lambda: gradient(weights)


def diffrax():
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    states, *weights = map(jnp.asarray, start())

    def loss(weights):
        first, second = weights
        slope = diffrax.ODETerm(lambda t, y, _: jnp.tanh(y @ first) @ second - 0.1 * y)
        size = diffrax.PIDController(**DIGITS)
        y = diffrax.diffeqsolve(slope, diffrax.Dopri5(), 0.0, 4.0, None, states, stepsize_controller=size, max_steps=500).ys
        return jnp.sum(y[-1] ** 2)

    gradient = jax.jit(jax.grad(loss))
    return lambda: gradient(weights)
