"""The Jacobian of an MLP with 64 inputs and 256 outputs, all rows at once."""

import itertools

import numpy as np

KEY = "ja"
TITLE = "Jacobian 256×64 of an MLP of 3 layers"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 1.0, "tensorflow_function": 0.3}

SIZES = (64, 256, 256, 256)


def start():
    random = np.random.default_rng(0)
    weights = [random.standard_normal(shape) / np.sqrt(shape[0]) for shape in itertools.pairwise(SIZES)]
    return random.standard_normal((1, SIZES[0])).astype("float32"), [weight.astype("float32") for weight in weights]


def tensorflow_step(tf):
    x, weights = start()
    x, weights = tf.constant(x), [tf.constant(weight) for weight in weights]

    @tf.function
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            values = x
            for weight in weights:
                values = tf.tanh(tf.matmul(values, weight))
        return tape.jacobian(values, x)

    return lambda: jacobian(x)


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tensorflow_step(tf)


def jax_jit():
    import jax
    import jax.numpy as jnp

    x, weights = start()
    x, weights = jnp.asarray(x), [jnp.asarray(weight) for weight in weights]

    def network(x):
        for weight in weights:
            x = jnp.tanh(x @ weight)
        return x

    jacobian = jax.jit(jax.jacrev(network))
    return lambda: jacobian(x)
