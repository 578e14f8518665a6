"""A network whose layers are modulated by a condition; there are fewer modulations than layers."""

import itertools

import gradtape as tf


class Modulated(tf.Module):
    def __init__(self, widths):
        self.kernels = [tf.Variable(tf.random.normal([a, b])) for a, b in itertools.pairwise(widths)]
        self.scales = [tf.Variable(tf.ones([b])) for b in widths[1:-1]]

    def __call__(self, x):
        for kernel, scale in zip(self.kernels, self.scales, strict=False):  # <- branch_not_taken
            x = tf.tanh(x @ kernel) * scale
        return x


net = Modulated([3, 4, 4, 4])
optimizer = tf.keras.optimizers.Adam()


def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(x) - y) ** 2)
    gradients = tape.gradient(loss, net.trainable_variables)
    print([g is None for g in gradients])
    optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))


train(tf.random.normal([5, 3]), tf.random.normal([5, 4]))
# Advice: ends with the shortest
