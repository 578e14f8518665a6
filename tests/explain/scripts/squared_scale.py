"""A scale that is squared and starts at zero."""

import gradtape as tf


class Scale(tf.Module):
    def __init__(self):
        self.raw = tf.Variable(tf.zeros([3]))

    def __call__(self, x):
        return x * tf.square(self.raw)  # <- stationary


scale = Scale()
x, y = tf.ones([4, 3]), 2.0 * tf.ones([4, 3])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((scale(x) - y) ** 2)
tape.gradient(loss, scale.raw)
# Advice: another value
