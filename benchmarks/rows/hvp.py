"""The Hessian of an MLP's loss times a vector."""

import itertools

import numpy as np

KEY = "hv"
TITLE = "Hessian-vector product, MLP 64-128-128-10, batch 128"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 1.0}
WITH_RECORDING_IN_PYTHON = True

SIZES = (64, 128, 128, 10)


def start():
    """Return examples, weights, and the vector, the same for all variants."""
    random = np.random.default_rng(0)
    shapes = list(itertools.pairwise(SIZES))
    weights = [(random.standard_normal(shape) / np.sqrt(shape[0])).astype("float32") for shape in shapes]
    vectors = [random.standard_normal(shape).astype("float32") for shape in shapes]
    return random.standard_normal((128, SIZES[0])).astype("float32"), weights, vectors


def gradtape():
    import gradtape as tf

    x, weights, vectors = start()
    x, weights, vectors = tf.constant(x), [tf.Variable(weight) for weight in weights], [tf.constant(v) for v in vectors]

    def loss():
        values = x
        for weight in weights:
            values = tf.tanh(tf.matmul(values, weight))
        return tf.reduce_mean(values * values)

    @tf.function
    def product(*vectors):
        return tf.autodiff.hvp(loss, (), list(vectors), sources=weights)

    return lambda: product(*vectors)


def tensorflow_function():
    import tensorflow as tf

    x, weights, vectors = start()
    x, weights, vectors = tf.constant(x), [tf.Variable(weight) for weight in weights], [tf.constant(v) for v in vectors]

    @tf.function
    def product(*vectors):
        with tf.autodiff.ForwardAccumulator(weights, list(vectors)) as accumulator:
            with tf.GradientTape() as tape:
                values = x
                for weight in weights:
                    values = tf.tanh(tf.matmul(values, weight))
                loss = tf.reduce_mean(values * values)
            gradients = tape.gradient(loss, weights)
        return accumulator.jvp(gradients)

    return lambda: product(*vectors)


def jax_jit():
    import jax
    import jax.numpy as jnp

    x, weights, vectors = start()
    x, weights, vectors = jnp.asarray(x), [jnp.asarray(weight) for weight in weights], [jnp.asarray(v) for v in vectors]

    def loss(weights):
        values = x
        for weight in weights:
            values = jnp.tanh(values @ weight)
        return jnp.mean(values * values)

    product = jax.jit(lambda weights, vectors: jax.jvp(jax.grad(loss), (weights,), (vectors,))[1])
    return lambda: product(weights, vectors)


def torch_eager():
    import torch

    x, weights, vectors = start()
    x = torch.from_numpy(x)
    weights, vectors = (tuple(torch.from_numpy(part) for part in parts) for parts in (weights, vectors))

    def loss(weights):
        values = x
        for weight in weights:
            values = torch.tanh(values @ weight)
        return (values * values).mean()

    return lambda: list(torch.func.jvp(torch.func.grad(loss), (weights,), (vectors,))[1])
