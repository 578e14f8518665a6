"""Support vector regression: all errors are within the tube."""

import gradtape as tf


class Line(tf.Module):
    def __init__(self):
        self.slope, self.offset = tf.Variable(1.0), tf.Variable(0.05)

    def __call__(self, x):
        return self.slope * x + self.offset


def tube_loss(wanted, predicted, width=0.2):
    beyond = tf.abs(wanted - predicted) - width
    return tf.reduce_mean(tf.maximum(beyond, 0.0))  # <- clipped


line = Line()
x = tf.linspace(0.0, 1.0, 8)
with tf.GradientTape() as tape:
    loss = tube_loss(x, line(x))
print(loss, tape.gradient(loss, line.trainable_variables))
# Advice: a margin that they do not meet
