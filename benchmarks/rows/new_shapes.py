"""A training loop in which no two batches have the same shape: [batch, length, 16], both drawn for each step."""

import numpy as np

KEY = "g"
TITLE = "a new shape in every step"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 2
STEPS, REPETITIONS = 20, 5
ON_A_CARD = 5, 2  # on a GPU, where a step that compiles takes a second
TOLERANCE = 1e-4
TARGETS = {"torch_eager": 1.5}
WITH_RECORDING_IN_PYTHON = True
COUNTED = False

LAYERS, WIDTH, SMALLEST, LARGEST, RATE = 4, 16, 4, 68, 0.01


def shapes(count=None):
    """Yield (batch, length) repeatedly: all pairs of the range in random order, or the first `count` of them."""
    sizes = range(SMALLEST, LARGEST)
    pairs = np.random.default_rng(0).permutation([(batch, length) for batch in sizes for length in sizes])
    while True:
        yield from pairs[:count].tolist()


def start():
    """Return data to cut batches from, and weights."""
    random = np.random.default_rng(1)
    data = random.standard_normal((LARGEST, LARGEST, WIDTH)).astype("float32")
    return data, [(0.3 * random.standard_normal((WIDTH, WIDTH))).astype("float32") for _ in range(LAYERS)]


def tensorflow_step(tf, count=None, compiled=lambda function: function):
    data, weights = start()
    weights = [tf.Variable(weight) for weight in weights]
    shape = shapes(count)

    @compiled
    def train(x):
        with tf.GradientTape() as tape:
            values = x
            for weight in weights:
                values = tf.tanh(tf.matmul(values, weight))
            loss = tf.reduce_mean(values * values)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        return loss

    def step():
        batch, length = next(shape)
        return train(tf.constant(data[:batch, :length])), weights

    return step


def gradtape(count=None):
    import gradtape as tf

    return tensorflow_step(tf, count)


def tensorflow_eager(count=None):
    import tensorflow as tf

    return tensorflow_step(tf, count)


def tensorflow_function(count=None):
    """Return the step with a signature that lets one graph serve every shape."""
    import tensorflow as tf

    signature = [tf.TensorSpec([None, None, WIDTH], tf.float32)]
    return tensorflow_step(tf, count, lambda function: tf.function(function, input_signature=signature))


def torch_step(torch, count=None, compiled=lambda function: function):
    data, weights = start()
    data, weights = torch.from_numpy(data), [torch.from_numpy(weight).requires_grad_() for weight in weights]
    shape = shapes(count)

    @compiled
    def loss_of(x, *weights):
        values = x
        for weight in weights:
            values = torch.tanh(values @ weight)
        return (values * values).mean()

    def step():
        batch, length = next(shape)
        loss = loss_of(data[:batch, :length].contiguous(), *weights)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.sub_(gradient, alpha=RATE)
        return loss, weights

    return step


def torch_eager(count=None):
    import torch

    return torch_step(torch, count)


def torch_compile(count=None):
    """Return the step with the setting that lets one program serve every shape."""
    import torch

    return torch_step(torch, count, lambda function: torch.compile(function, dynamic=True))


def jax_jit(count=None):
    import jax
    import jax.numpy as jnp

    data, weights = start()
    weights = [jnp.asarray(weight) for weight in weights]
    shape = shapes(count)

    def loss_of(weights, x):
        values = x
        for weight in weights:
            values = jnp.tanh(values @ weight)
        return jnp.mean(values * values)

    @jax.jit
    def train(weights, x):
        loss, gradients = jax.value_and_grad(loss_of)(weights, x)
        return loss, [weight - RATE * gradient for weight, gradient in zip(weights, gradients, strict=True)]

    def step():
        nonlocal weights
        batch, length = next(shape)
        loss, weights = train(weights, jnp.asarray(data[:batch, :length]))
        return loss, weights

    return step
