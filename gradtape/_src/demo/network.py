"""The demo's model and optimizer, written with Variables and plain ops."""

import numpy as np

import gradtape as tf


class Network:
    """Two 3×3 convolutions, each followed by a 2×2 max pool, and two dense layers: 8×8 pixels in, 10 scores out.

    NumPy draws the weights from the given generator (He initialisation), so they depend on its seed alone.
    """

    def __init__(self, random: np.random.Generator):
        def weights(*shape):
            deviation = np.sqrt(2 / np.prod(shape[:-1]))
            return tf.Variable((deviation * random.standard_normal(shape)).astype("float32"))

        def zeros(size):
            return tf.Variable(np.zeros(size, "float32"))

        self.convolutions = [(weights(3, 3, 1, 32), zeros(32)), (weights(3, 3, 32, 64), zeros(64))]
        self.hidden = weights(2 * 2 * 64, 64), zeros(64)
        self.output = weights(64, 10), zeros(10)

    @property
    def variables(self) -> list:
        """Every Variable, from the pixels to the scores."""
        return [variable for layer in (*self.convolutions, self.hidden, self.output) for variable in layer]

    def __call__(self, images):
        """The scores [N, 10] of `images` [N, 8, 8, 1]."""
        values = images
        for kernel, bias in self.convolutions:
            values = tf.nn.relu(tf.nn.conv2d(values, kernel, strides=1, padding="SAME") + bias)
            values = tf.nn.max_pool2d(values, ksize=2, strides=2, padding="VALID")
        values = tf.reshape(values, [-1, 2 * 2 * 64])
        kernel, bias = self.hidden
        values = tf.nn.relu(tf.matmul(values, kernel) + bias)
        kernel, bias = self.output
        return tf.matmul(values, kernel) + bias


class Momentum:
    """Gradient descent: `velocity ← momentum·velocity + gradient`, `variable ← variable − rate·velocity`."""

    def __init__(self, variables, momentum: float = 0.9):
        self.variables, self.momentum = variables, momentum
        self.velocities = [tf.Variable(tf.zeros_like(variable), trainable=False) for variable in variables]

    def update(self, gradients, rate: float) -> None:
        """Take one step of size `rate` along `gradients`, one for each variable."""
        for variable, velocity, gradient in zip(self.variables, self.velocities, gradients, strict=True):
            velocity.assign(self.momentum * velocity + gradient)
            variable.assign_sub(rate * velocity)
