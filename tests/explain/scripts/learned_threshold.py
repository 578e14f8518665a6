"""Pruning with a learned threshold and a straight-through gradient, in a layer and a function."""

import gradtape as tf


class Pruned(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")
        self.raw = self.add_weight(shape=(), initializer="zeros", name="raw_threshold")

    def call(self, x):
        threshold = 0.1 * tf.nn.softplus(self.raw)

        @tf.custom_gradient
        def prune(w):
            keep = tf.cast(tf.abs(w) > threshold, w.dtype)
            return w * keep, lambda upstream: upstream

        return x @ prune(self.kernel)  # <- not_differentiable


layer = Pruned(3)
x, y = tf.random.normal([8, 4]), tf.random.normal([8, 3])
layer(x)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((layer(x) - y) ** 2)
    return loss, tape.gradient(loss, layer.trainable_variables)


loss, gradients = train_step(x, y)
print(loss, [g is None for g in gradients])
# Advice: make the value an argument
