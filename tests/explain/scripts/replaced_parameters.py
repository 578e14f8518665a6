"""Parameters in a dataclass, which each step replaces by tensors."""

import dataclasses

import gradtape as tf


@dataclasses.dataclass
class Parameters:
    slope: tf.Variable
    offset: tf.Variable


def step(p, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((p.slope * x + p.offset - y) ** 2)
    slopes = tape.gradient(loss, [p.slope, p.offset])
    return dataclasses.replace(p, slope=p.slope - 0.1 * slopes[0], offset=p.offset - 0.1 * slopes[1])


x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([2.0, 4.0, 6.0])
p = Parameters(tf.Variable(0.5), tf.Variable(0.0))
p = step(p, x, y)  # <- rebound
p = step(p, x, y)
# Advice: p.slope.assign
