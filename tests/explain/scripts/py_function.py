"""A signal that is filtered by NumPy in a tf.py_function."""

import numpy as np

import gradtape as tf


def wave(values):
    return np.sin(values.numpy())  # <- left_library


phase = tf.Variable([0.1, 0.2])
with tf.GradientTape() as tape:
    signal = tf.py_function(wave, [phase], tf.float32)
    loss = tf.reduce_sum(signal**2)
tape.gradient(loss, phase)
