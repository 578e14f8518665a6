"""500 exponential decays of 30 observations, each with two parameters of its own, fitted at once."""

import numpy as np

KEY = "lmb"
TITLE = "Levenberg-Marquardt on 500 sets of data at once"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-6
TARGETS = {"optimistix": 1.0}

COUNT = 500


def start():
    """The times and what was measured at them."""
    times, rates = np.linspace(0.0, 4.0, 30), np.linspace(0.2, 2.0, COUNT)
    return times, 3.0 * np.exp(-rates[:, None] * times) + 0.01 * np.random.default_rng(0).standard_normal((COUNT, 30))


def gradtape():
    import gradtape as tf

    times, measured = map(tf.constant, start())
    first, b = np.ones((COUNT, 2)), tf.Variable(np.ones((COUNT, 2)))
    optimizer = tf.optimizers.LevenbergMarquardt()
    residuals = tf.function(lambda b, one: b[0] * tf.exp(-b[1] * times) - one)

    def step():
        b.assign(first)
        optimizer.minimize_batch(residuals, b, measured)
        return [b]

    return step


def optimistix():
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    jax.config.update("jax_enable_x64", True)
    times, measured = map(jnp.asarray, start())
    solver = optx.LevenbergMarquardt(rtol=1e-8, atol=1e-8)

    def fit(b, one):
        return optx.least_squares(lambda b, _: b[0] * jnp.exp(-b[1] * times) - one, solver, b, max_steps=1000).value

    fits, first = jax.jit(jax.vmap(fit)), np.ones((COUNT, 2))
    return lambda: [fits(first, measured)]


def scipy():
    from scipy.optimize import least_squares

    times, measured = start()

    def step():
        fits = [least_squares(lambda b, one=one: b[0] * np.exp(-b[1] * times) - one, np.ones(2), method="lm") for one in measured]
        return [np.array([fit.x for fit in fits])]

    return step
