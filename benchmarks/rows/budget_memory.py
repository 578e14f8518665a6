"""The memory of a backward pass of 16 blocks: gradtape with a budget, others with each block checkpointed."""

import numpy as np

KEY = "bm"
TITLE = "peak memory of a backward pass within a budget, 16 blocks 128-512-128 on 2,048 rows"
MEASURE = "peak memory"
CHECKED_STEPS = 1
STEPS = 5
TOLERANCE = 1e-3
TARGETS = {}

BLOCKS, WIDTH, ROWS = 16, 128, 2048


def start():
    """Return rows, and two matrices for each block, the same for all variants."""
    random = np.random.default_rng(0)
    weights = []
    for _ in range(BLOCKS):
        up, down = random.standard_normal((WIDTH, 4 * WIDTH)) / 11, random.standard_normal((4 * WIDTH, WIDTH)) / 40
        weights += [up.astype("float32"), down.astype("float32")]
    return random.standard_normal((ROWS, WIDTH)).astype("float32"), weights


def gradtape():
    import gradtape as tf

    x, weights = start()
    x, variables = tf.constant(x), [tf.Variable(w) for w in weights]

    def model(x):
        for up, down in zip(variables[::2], variables[1::2], strict=True):
            x = x + tf.tanh(x @ up) @ down
        return x

    within = tf.autodiff.recompute_grad(model, memory="48MB")

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(within(x) ** 2)
        return tape.gradient(loss, variables)

    return lambda: gradients(x)


def jax_jit():
    import jax
    import jax.numpy as jnp

    x, weights = start()
    x, weights = jnp.asarray(x), [jnp.asarray(w) for w in weights]

    @jax.checkpoint
    def block(x, up, down):
        return x + jnp.tanh(x @ up) @ down

    def loss(weights, x):
        for up, down in zip(weights[::2], weights[1::2], strict=True):
            x = block(x, up, down)
        return jnp.mean(x**2)

    gradients = jax.jit(jax.grad(loss))
    return lambda: gradients(weights, x)


def torch_eager():
    import torch
    from torch.utils.checkpoint import checkpoint

    x, weights = start()
    x, weights = torch.from_numpy(x), [torch.from_numpy(w).requires_grad_() for w in weights]

    def block(x, up, down):
        return x + torch.tanh(x @ up) @ down

    def step():
        y = x
        for up, down in zip(weights[::2], weights[1::2], strict=True):
            y = checkpoint(block, y, up, down, use_reentrant=False)
        return list(torch.autograd.grad(torch.mean(y**2), weights))

    return step
