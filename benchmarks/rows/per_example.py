"""The gradients of each of 128 examples, for an MLP 64-128-10 with cross-entropy."""

import numpy as np

KEY = "pe"
TITLE = "per-example gradients, MLP 64-128-10, batch 128"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 1.0, "torch_eager": 0.5}

BATCH = 128


def start():
    """Return examples, labels, and the four parameters, the same for all variants."""
    random = np.random.default_rng(0)
    w, u = random.standard_normal((64, 128)) / 8, random.standard_normal((128, 10)) / 11
    parameters = [w, np.zeros(128), u, np.zeros(10)]
    x, labels = random.standard_normal((BATCH, 64)).astype("float32"), random.integers(0, 10, BATCH)
    return x, labels, [parameter.astype("float32") for parameter in parameters]


def gradtape():
    import gradtape as tf

    x, labels, parameters = start()
    x, labels = tf.constant(x), tf.constant(labels)
    w, b, u, c = variables = [tf.Variable(parameter) for parameter in parameters]

    def loss(x, label):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(label, tf.matmul(tf.tanh(tf.matmul(x, w) + b), u) + c)

    @tf.function
    def gradients(x, labels):
        return tf.autodiff.per_example_gradients(loss, variables, (x, labels))

    return lambda: gradients(x, labels)


def jax_jit():
    import jax
    import jax.numpy as jnp

    x, labels, parameters = start()
    x, labels, parameters = jnp.asarray(x), jnp.asarray(labels), [jnp.asarray(parameter) for parameter in parameters]

    def loss(parameters, x, label):
        w, b, u, c = parameters
        return -jax.nn.log_softmax(jnp.tanh(x @ w + b) @ u + c)[label]

    gradients = jax.jit(jax.vmap(jax.grad(loss), (None, 0, 0)))
    return lambda: gradients(parameters, x, labels)


def torch_eager():
    import torch

    x, labels, parameters = start()
    x, labels = torch.from_numpy(x), torch.from_numpy(labels)
    parameters = tuple(torch.from_numpy(parameter) for parameter in parameters)

    def loss(parameters, x, label):
        w, b, u, c = parameters
        return torch.nn.functional.cross_entropy(torch.tanh(x @ w + b) @ u + c, label)

    gradients = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return lambda: list(gradients(parameters, x, labels))
