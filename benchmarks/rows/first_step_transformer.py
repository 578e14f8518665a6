"""The first step of a transformer of 4 layers in a new process: eager code with a tape, plain ops, gradient descent."""

import numpy as np

KEY = "ht"
TITLE = "cold: first step of a transformer, 4 layers"
MEASURE = "first step"
TARGETS = {"tensorflow_eager": 0.8}

LAYERS, HEADS, WIDTH, BATCH, LENGTH, RATE = 4, 4, 64, 16, 32, 0.01
SHAPES = ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))


def start(layers=LAYERS):
    """Draw the weights of each layer, and embedded sentences."""
    random = np.random.default_rng(0)
    weights = [[(0.05 * random.standard_normal(shape)).astype("float32") for shape in SHAPES] for _ in range(layers)]
    return weights, random.standard_normal((BATCH, 2 * LENGTH, WIDTH)).astype("float32")


def tensorflow_loss(tf, weights, x):
    """Compute the mean square of the encoder's output for [batch, length, width]."""
    batch, length = x.shape[:2]

    def normalized(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-6)

    def heads(x):
        return tf.transpose(tf.reshape(x, [batch, length, HEADS, WIDTH // HEADS]), [0, 2, 1, 3])

    for into, out, up, down in weights:
        q, k, v = (heads(part) for part in tf.split(normalized(x) @ into, 3, -1))
        attention = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * (WIDTH // HEADS) ** -0.5)
        x = x + tf.reshape(tf.transpose(attention @ v, [0, 2, 1, 3]), [batch, length, WIDTH]) @ out
        x = x + tf.nn.gelu(normalized(x) @ up, approximate=True) @ down
    return tf.reduce_mean(x * x)


def tensorflow_step(tf, layers=LAYERS, lengths=None):
    weights, data = start(layers)
    weights = [[tf.Variable(weight) for weight in layer] for layer in weights]
    every = [weight for layer in weights for weight in layer]

    def step():
        x = tf.constant(data[:, : LENGTH if lengths is None else next(lengths)])
        with tf.GradientTape() as tape:
            loss = tensorflow_loss(tf, weights, x)
        for weight, gradient in zip(every, tape.gradient(loss, every), strict=True):
            weight.assign_sub(RATE * gradient)
        return loss, every

    return step


def torch_step(torch, layers=LAYERS, lengths=None):
    weights, data = start(layers)
    weights = [[torch.from_numpy(weight).requires_grad_() for weight in layer] for layer in weights]
    every = [weight for layer in weights for weight in layer]
    functional = torch.nn.functional

    def loss_of(x):
        batch, length = x.shape[:2]

        def normalized(x):
            return functional.layer_norm(x, [WIDTH], eps=1e-6)

        def heads(x):
            return x.reshape(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)

        for into, out, up, down in weights:
            q, k, v = (heads(part) for part in (normalized(x) @ into).chunk(3, -1))
            attention = torch.softmax(q @ k.transpose(-1, -2) * (WIDTH // HEADS) ** -0.5, -1)
            x = x + (attention @ v).transpose(1, 2).reshape(batch, length, WIDTH) @ out
            x = x + functional.gelu(normalized(x) @ up, approximate="tanh") @ down
        return (x * x).mean()

    def step():
        x = torch.from_numpy(data[:, : LENGTH if lengths is None else next(lengths)].copy())
        loss = loss_of(x)
        gradients = torch.autograd.grad(loss, every)
        with torch.no_grad():
            for weight, gradient in zip(every, gradients, strict=True):
                weight.sub_(gradient, alpha=RATE)
        return loss, every

    return step


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def torch_eager():
    import torch

    return torch_step(torch)
