"""The slope of an activation is a variable that is not trainable."""

import gradtape as tf


class Slope(tf.Module):
    def __init__(self):
        super().__init__()
        self.alpha = tf.Variable(0.25, trainable=False)

    def __call__(self, x):
        return tf.maximum(x, 0.0) + self.alpha * tf.minimum(x, 0.0)  # <- not_trainable


activation = Slope()
w = tf.Variable([[1.0, -2.0]])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(activation(tf.constant([[1.0], [2.0]]) @ w) ** 2)
gradients = tape.gradient(loss, [w, activation.alpha])
# Fix: tape.watch(activation.alpha)
