"""Training of a GRU, unrolled by a Python loop, on sequences of a new length in each step."""

import numpy as np

KEY = "gg"
TITLE = "a new length in every step: GRU, unrolled"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 2
STEPS, REPETITIONS = 8, 5
TOLERANCE = 1e-3
TARGETS = {"torch_eager": 4.0}

WIDTH, BATCH, SHORTEST, LONGEST, RATE = 32, 16, 8, 56, 0.01


def lengths():
    """Yield lengths in random order, repeating none before all have occurred."""
    while True:
        yield from (SHORTEST + np.random.default_rng(0).permutation(LONGEST - SHORTEST)).tolist()


def start():
    """Return sequences [step, batch, width] and the weights of inputs and states."""
    random = np.random.default_rng(1)
    weights = [(0.2 * random.standard_normal((WIDTH, 3 * WIDTH))).astype("float32") for _ in range(2)]
    return random.standard_normal((LONGEST, BATCH, WIDTH)).astype("float32"), weights


def tensorflow_step(tf):
    data, weights = start()
    weights, drawn = [tf.Variable(weight) for weight in weights], lengths()

    def step():
        steps = tf.constant(data[: next(drawn)])
        with tf.GradientTape() as tape:
            state = tf.zeros([BATCH, WIDTH])
            for x in tf.unstack(steps):
                a, b, c = tf.split(x @ weights[0], 3, -1)
                d, e, f = tf.split(state @ weights[1], 3, -1)
                update = tf.sigmoid(a + d)
                state = update * state + (1.0 - update) * tf.tanh(c + tf.sigmoid(b + e) * f)
            loss = tf.reduce_mean(state * state)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        return loss, weights

    return step


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def torch_eager():
    import torch

    data, weights = start()
    weights, drawn = [torch.from_numpy(weight).requires_grad_() for weight in weights], lengths()

    def step():
        state = torch.zeros(BATCH, WIDTH)
        for x in torch.from_numpy(data[: next(drawn)]).unbind():
            a, b, c = (x @ weights[0]).chunk(3, -1)
            d, e, f = (state @ weights[1]).chunk(3, -1)
            update = torch.sigmoid(a + d)
            state = update * state + (1.0 - update) * torch.tanh(c + torch.sigmoid(b + e) * f)
        loss = (state * state).mean()
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.sub_(gradient, alpha=RATE)
        return loss, weights

    return step
