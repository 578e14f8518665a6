"""A block with dry friction: the sign of its velocity alone counts."""

import gradtape as tf

v0 = tf.Variable(2.0)
coefficient = tf.Variable(0.3)


@tf.function
def stopping_force(steps):
    velocity = v0
    work = 0.0
    for _ in tf.range(steps):
        work += coefficient * tf.sign(velocity) * 0.1  # <- piecewise_constant
    return work


with tf.GradientTape() as tape:
    work = stopping_force(tf.constant(5))
print(tape.gradient(work, v0))
