"""A training step of ResNet-50 on 64 images: the tape, the gradients of all weights, gradient descent. Weights are random."""

from dataclasses import dataclass

import numpy as np

from benchmarks.keras_fit import fitting

KEY = "rn"
TITLE = "ResNet-50, batch 64: a training step"
MEASURE = "time per step"
STEPS_DEPEND = True
CHECKED_STEPS = 1
STEPS, REPETITIONS = 5, 4
TOLERANCE = 1e-2
# 53 convolutions with batch statistics accumulate rounding. With operands rounded to TensorFloat-32 (on a CPU, 16 images of 96
# × 96) the last gradient deviates by 9 % of its largest element, with bfloat16 by 21 %.
TOLERANCES = {"float32": 0.2, "bfloat16": 0.4}
APART = True
SECONDS = 240

RATE, EPSILON = 0.01, 1e-5


@dataclass(frozen=True)
class Size:
    """The number of images, the channels of the first convolution, the blocks of each stage, and the number of classes."""

    batch: int
    image: int
    width: int
    blocks: tuple[int, ...]
    classes: int


SIZE = Size(batch=64, image=224, width=64, blocks=(3, 4, 6, 3), classes=1000)
TINY = Size(batch=2, image=32, width=8, blocks=(1, 1), classes=10)


def kernels():
    """Yield the shape of each convolution's kernel, in the order of `network`."""
    yield 7, 7, 3, SIZE.width
    inputs = SIZE.width
    for stage, count in enumerate(SIZE.blocks):
        inner = SIZE.width << stage
        for block in range(count):
            if block == 0:
                yield 1, 1, inputs, 4 * inner
            yield 1, 1, inputs, inner
            yield 3, 3, inner, inner
            yield 1, 1, inner, 4 * inner
            inputs = 4 * inner


def start():
    """Return images and labels, kernel, scale and offset of each convolution, and the last layer."""
    random = np.random.default_rng(0)

    def normal(deviation, *shape):
        return np.float32(deviation) * random.standard_normal(shape, "float32")

    layers = [
        [normal((2 / np.prod(shape[:3])) ** 0.5, *shape), np.ones(shape[3], "float32"), np.zeros(shape[3], "float32")]
        for shape in kernels()
    ]
    features = 4 * SIZE.width << (len(SIZE.blocks) - 1)
    last = [normal(features**-0.5, features, SIZE.classes), np.zeros(SIZE.classes, "float32")]
    return normal(1, SIZE.batch, SIZE.image, SIZE.image, 3), random.integers(0, SIZE.classes, SIZE.batch), layers, last


def network(images, layers, convolved, relu, pooled):
    """Compute the features before the mean over the image. `convolved(x, kernel, scale, offset, stride)` normalizes, too."""
    layers = iter(layers)
    x = pooled(relu(convolved(images, *next(layers), 2)))
    for stage, count in enumerate(SIZE.blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            shortcut = x if block else convolved(x, *next(layers), stride)
            y = relu(convolved(x, *next(layers), 1))
            y = relu(convolved(y, *next(layers), stride))
            x = relu(convolved(y, *next(layers), 1) + shortcut)
    return x


def gradtape():
    import gradtape as tf

    images, labels, layers, last = start()
    images, labels = tf.constant(images), tf.constant(labels)
    layers, last = [[tf.Variable(weight) for weight in layer] for layer in layers], [tf.Variable(weight) for weight in last]
    weights = [weight for layer in [*layers, last] for weight in layer]

    def convolved(x, kernel, scale, offset, stride):
        margin = [kernel.shape[0] // 2] * 2
        x = tf.nn.conv2d(x, kernel, stride, [[0, 0], margin, margin, [0, 0]])
        mean, variance = tf.nn.moments(x, [0, 1, 2])
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, EPSILON)

    def pooled(x):
        return tf.nn.max_pool2d(x, 3, 2, [[0, 0], [1, 1], [1, 1], [0, 0]])

    def step():
        with tf.GradientTape() as tape:
            features = tf.reduce_mean(network(images, layers, convolved, tf.nn.relu, pooled), [1, 2])
            scores = features @ last[0] + last[1]
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * gradient)
        return loss, layers[0][1], layers[-1][2], last[1]

    return step


def gradtape_fit():
    """Return the step of `fit` on the same network of Keras's layers."""
    import gradtape as tf

    images, labels, drawn, last = start()
    images, labels, layers, shapes, made = tf.constant(images), tf.constant(labels), tf.keras.layers, kernels(), []
    tf.keras.config.set_dtype_policy(images.dtype.name)

    def convolved(x, stride):
        window, _, _, channels = next(shapes)
        convolution = layers.Conv2D(channels, window, stride, use_bias=False)
        norm = layers.BatchNormalization(epsilon=EPSILON)
        made.append([convolution, norm])
        return norm(convolution(layers.ZeroPadding2D(window // 2)(x)))

    inputs = layers.Input(images.shape[1:])
    x = layers.ReLU()(convolved(inputs, 2))
    x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))
    for stage, count in enumerate(SIZE.blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            shortcut = x if block else convolved(x, stride)
            y = layers.ReLU()(convolved(x, 1))
            y = layers.ReLU()(convolved(y, stride))
            x = layers.ReLU()(convolved(y, 1) + shortcut)
    dense = layers.Dense(SIZE.classes)
    model = tf.keras.Model(inputs, dense(layers.GlobalAveragePooling2D()(x)))
    variables = [v for layer in [*made, [dense]] for part in layer for v in part.trainable_variables]
    for variable, weight in zip(variables, [weight for layer in [*drawn, last] for weight in layer], strict=True):
        variable.assign(weight)
    return fitting(model, RATE, images, labels, [made[0][1].gamma, made[-1][1].beta, dense.bias])


def torch_step(torch, compiled=lambda function: function):
    """Return the step in the layout NHWC in memory, which PyTorch recommends for convolutions on a GPU."""
    images, labels, layers, last = start()
    functional = torch.nn.functional
    for layer in layers:
        layer[0] = layer[0].transpose(3, 2, 0, 1).copy()
    weights = [torch.from_numpy(weight) for layer in [*layers, last] for weight in layer]
    for i, weight in enumerate(weights):
        weights[i] = (weight.contiguous(memory_format=torch.channels_last) if weight.ndim == 4 else weight).requires_grad_()
    images, labels = torch.from_numpy(images).permute(0, 3, 1, 2), torch.from_numpy(labels)

    def convolved(x, kernel, scale, offset, stride):
        x = functional.conv2d(x, kernel, stride=stride, padding=kernel.shape[-1] // 2)
        return functional.batch_norm(x, None, None, scale, offset, training=True, eps=EPSILON)

    def pooled(x):
        return functional.max_pool2d(x, 3, 2, 1)

    @compiled
    def loss_of(images, labels, *weights):
        layers = [weights[i : i + 3] for i in range(0, len(weights) - 2, 3)]
        features = network(images, layers, convolved, torch.relu, pooled).mean((2, 3))
        return functional.cross_entropy(features @ weights[-2] + weights[-1], labels)

    @compiled
    def update(weights, gradients):
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.sub_(gradient, alpha=RATE)

    def step():
        loss = loss_of(images, labels, *weights)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            update(weights, gradients)
        return loss, weights[1], weights[-3], weights[-1]

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
    from jax import lax

    images, labels, layers, last = jax.tree.map(jnp.asarray, start())

    def convolved(x, kernel, scale, offset, stride):
        margins = [[kernel.shape[0] // 2] * 2] * 2
        x = lax.conv_general_dilated(x, kernel, [stride] * 2, margins, dimension_numbers=("NHWC", "HWIO", "NHWC"))
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        return (x - mean) * (scale * lax.rsqrt(variance + EPSILON)) + offset

    def pooled(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), [(0, 0), (1, 1), (1, 1), (0, 0)])

    def loss_of(weights, images, labels):
        layers, last = weights
        features = network(images, layers, convolved, jax.nn.relu, pooled).mean((1, 2))
        scores = jax.nn.log_softmax(features @ last[0] + last[1])
        return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()

    def train(weights, images, labels):
        loss, gradients = jax.value_and_grad(loss_of)(weights, images, labels)
        return loss, jax.tree.map(lambda weight, gradient: weight - RATE * gradient, weights, gradients)

    weights, train = (layers, last), jax.jit(train, donate_argnums=0)

    def step():
        nonlocal weights
        loss, weights = train(weights, images, labels)
        layers, last = weights
        return loss, layers[0][1], layers[-1][2], last[1]

    return step
