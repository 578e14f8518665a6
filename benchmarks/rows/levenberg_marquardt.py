"""NIST's largest regression set (two Gaussian peaks on an exponential, 250 observations, 8 parameters), from its first start.

SciPy uses MINPACK's algorithm, a model in NumPy, the same tolerances, and by default a Jacobian by finite differences.
Optimistix runs as a compiled JAX program, with its own algorithm and convergence tests.
"""

import json
from pathlib import Path

import numpy as np

KEY = "lm"
TITLE = "Levenberg-Marquardt on Gauss2 of NIST: a whole fit"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-6
TARGETS = {"scipy": 1.0, "optimistix": 1.0}

DATA = Path(__file__).parents[2] / "tests" / "optimizers" / "nist.json"


def start():
    data = json.loads(DATA.read_text())["Gauss2"]
    return np.array(data["x"][0]), np.array(data["y"]), np.array(data["starts"][0])


def peaks(functions, b, x):
    first, second = (x - b[3]) / b[4], (x - b[6]) / b[7]
    exp = functions.exp
    return b[0] * exp(-b[1] * x) + b[2] * exp(-(first**2)) + b[5] * exp(-(second**2))


def gradtape():
    import gradtape as tf

    x, y, first = start()
    x, y, b = tf.constant(x), tf.constant(y), tf.Variable(first)
    optimizer, residuals = tf.optimizers.LevenbergMarquardt(), tf.function(lambda: peaks(tf, b, x) - y)

    def step():
        b.assign(first)
        optimizer.minimize(residuals, b)
        return [b]

    return step


def scipy():
    from scipy.optimize import least_squares

    x, y, first = start()
    return lambda: [least_squares(lambda b: peaks(np, b, x) - y, first, method="lm", x_scale="jac").x]


def optimistix():
    import jax
    import jax.numpy as jnp
    import optimistix as optx

    jax.config.update("jax_enable_x64", True)
    x, y, first = start()
    solver = optx.LevenbergMarquardt(rtol=1e-8, atol=1e-8)
    fit = jax.jit(lambda b: optx.least_squares(lambda b, _: peaks(jnp, b, x) - y, solver, b, max_steps=1000).value)
    return lambda: [fit(first)]
