"""Three heads on five images, each a convolution, the mean over the image and a dense layer; all gradients."""

import numpy as np

KEY = "c"
TITLE = "three conv heads on [5, 224, 224, 3]: all gradients"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 5e-3  # PyTorch and TensorFlow lose three digits where the bias gradient sums 246,420 equal numbers
TARGETS = {"tensorflow_function": 0.5}
WITH_TUNED_ALLOCATOR = True

HEADS, CHANNELS, CLASSES = 3, 64, 10


def start():
    """Return images, a label for each image and head, and kernel, bias, matrix, bias of each head."""
    random = np.random.default_rng(0)

    def normal(deviation, *shape):
        return (deviation * random.standard_normal(shape)).astype("float32")

    images = random.random((5, 224, 224, 3), "float32")
    labels = random.integers(0, CLASSES, (HEADS, 5))
    heads = [
        [normal(0.2, 3, 3, 3, CHANNELS), normal(0.1, CHANNELS), normal(0.1, CHANNELS, CLASSES), normal(0.1, CLASSES)]
        for _ in range(HEADS)
    ]
    return images, labels, heads


def tensorflow_step(tf):
    images, labels, heads = start()
    images, labels = tf.constant(images), tf.constant(labels)
    heads = [[tf.Variable(value) for value in head] for head in heads]

    def step():
        with tf.GradientTape() as tape:
            loss = 0.0
            for number, (kernel, bias, matrix, offset) in enumerate(heads):
                features = tf.nn.conv2d(images, kernel, strides=1, padding="VALID") + bias
                scores = tf.matmul(tf.reduce_mean(features, axis=[1, 2]), matrix) + offset
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[number], logits=scores)
                loss += tf.reduce_mean(losses)
        return loss, tape.gradient(loss, heads)

    return step


def gradtape():
    import gradtape as tf

    return tensorflow_step(tf)


def tensorflow_eager():
    import tensorflow as tf

    return tensorflow_step(tf)


def tensorflow_function():
    import tensorflow as tf

    return tf.function(tensorflow_step(tf))


def torch_step(torch, compiled=lambda function: function):
    """Return the step in PyTorch's own layout, NCHW. The kernels' gradients are transposed by a view for comparison."""
    images, labels, heads = start()
    images, labels = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(labels)
    for head in heads:
        head[0] = head[0].transpose(3, 2, 0, 1).copy()
    values = [torch.from_numpy(value).requires_grad_() for head in heads for value in head]

    @compiled
    def loss_of(images, labels, *values):
        loss = 0.0
        for number in range(HEADS):
            kernel, bias, matrix, offset = values[4 * number : 4 * number + 4]
            features = torch.nn.functional.conv2d(images, kernel, bias)
            scores = features.mean(dim=(2, 3)) @ matrix + offset
            loss = loss + torch.nn.functional.cross_entropy(scores, labels[number])
        return loss

    def step():
        loss = loss_of(images, labels, *values)
        gradients = torch.autograd.grad(loss, values)
        return loss, [gradient.permute(2, 3, 1, 0) if gradient.ndim == 4 else gradient for gradient in gradients]

    return step


def torch_eager():
    import torch

    return torch_step(torch)


def torch_compile():
    import torch

    return torch_step(torch, torch.compile)


def jax_jit():
    import jax
    import jax.numpy as jnp

    images, labels, heads = jax.tree.map(jnp.asarray, start())

    def loss_of(heads, images, labels):
        loss = 0.0
        for number, (kernel, bias, matrix, offset) in enumerate(heads):
            dimensions = ("NHWC", "HWIO", "NHWC")
            features = jax.lax.conv_general_dilated(images, kernel, (1, 1), "VALID", dimension_numbers=dimensions)
            scores = (features + bias).mean(axis=(1, 2)) @ matrix + offset
            chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), labels[number][:, None], axis=1)
            loss -= chosen.mean()
        return loss

    value_and_gradient = jax.jit(jax.value_and_grad(loss_of))
    return lambda: value_and_gradient(heads, images, labels)
