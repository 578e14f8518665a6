"""A property that is cached."""

import functools

import gradtape as tf


class M(tf.Module):
    def __init__(self):
        self.w = tf.Variable([1.0, 2.0])

    @functools.cached_property
    def scaled(self):
        return self.w * 2.0  # <- other_tape


m = M()
for _ in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(m.scaled**2)
    tape.gradient(loss, m.w)
# Advice: by `@property`
