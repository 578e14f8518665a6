"""One convolution with relu, with gradients to input and kernel: no structure to exploit."""

import numpy as np

KEY = "d"
TITLE = "conv 3×3, 32 → 64, relu on [32, 32, 32, 32]: both gradients"
MEASURE = "time per step"
CHECKED_STEPS = 1
TOLERANCE = 1e-4
TARGETS = {"jax_jit": 0.7, "torch_eager": 1.0}
WITH_TUNED_ALLOCATOR = True


def start():
    """Return images [32, 32, 32, 32] and a kernel [3, 3, 32, 64]."""
    random = np.random.default_rng(0)
    images = random.standard_normal((32, 32, 32, 32)).astype("float32")
    return images, (0.05 * random.standard_normal((3, 3, 32, 64))).astype("float32")


def tensorflow_step(tf):
    images, kernel = (tf.Variable(value) for value in start())

    def step():
        with tf.GradientTape() as tape:
            features = tf.nn.relu(tf.nn.conv2d(images, kernel, strides=1, padding="SAME"))
            loss = tf.reduce_mean(features * features)
        return loss, tape.gradient(loss, [images, kernel])

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
    """Return the step in PyTorch's own layout, NCHW. Gradients are transposed by views for comparison."""
    images, kernel = (torch.from_numpy(value) for value in start())
    images = images.permute(0, 3, 1, 2).contiguous().requires_grad_()
    kernel = kernel.permute(3, 2, 0, 1).contiguous().requires_grad_()

    @compiled
    def loss_of(images, kernel):
        features = torch.relu(torch.nn.functional.conv2d(images, kernel, padding=1))
        return (features * features).mean()

    def step():
        loss = loss_of(images, kernel)
        to_images, to_kernel = torch.autograd.grad(loss, [images, kernel])
        return loss, to_images.permute(0, 2, 3, 1), to_kernel.permute(2, 3, 1, 0)

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

    images, kernel = (jnp.asarray(value) for value in start())

    def loss_of(images, kernel):
        dimensions = ("NHWC", "HWIO", "NHWC")
        features = jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=dimensions)
        features = jnp.maximum(features, 0)
        return jnp.mean(features * features)

    value_and_gradient = jax.jit(jax.value_and_grad(loss_of, argnums=(0, 1)))
    return lambda: value_and_gradient(images, kernel)
