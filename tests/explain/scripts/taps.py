"""Delays of a filter; the sum over them ends too early."""

import gradtape as tf


class Filter(tf.Module):
    def __init__(self, taps):
        self.taps = [tf.Variable(1.0 / taps) for _ in range(taps)]

    def __call__(self, signal):
        return tf.add_n([tap * tf.roll(signal, k, 0) for k, tap in zip(range(3), self.taps, strict=False)])  # <- branch_not_taken


filtered = Filter(5)
signal = tf.random.normal([20])
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((filtered(signal) - 1.0) ** 2)
print(tape.gradient(loss, filtered.trainable_variables))
# Advice: look where it begins and ends
