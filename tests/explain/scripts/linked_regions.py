"""Regions of a brain that act alike: Fisher's transformation of their correlations."""

import gradtape as tf

mixing = tf.Variable([[1.0, 0.2], [0.5, 1.0], [2.0, 0.4]])
sources = tf.random.stateless_normal([2, 50], seed=[3, 0])


def correlations(signals):
    signals = signals - tf.reduce_mean(signals, axis=1, keepdims=True)
    signals = signals / tf.sqrt(tf.reduce_sum(signals**2, axis=1, keepdims=True))
    return tf.clip_by_value(signals @ tf.transpose(signals), -1.0, 1.0)


def linked(signals):
    r = correlations(signals)
    z = tf.math.atanh(r)  # <- nan_origin
    upper = tf.linalg.band_part(tf.ones_like(z), 0, -1) - tf.eye(3)
    return tf.reduce_sum(upper * z) / 3.0


with tf.GradientTape() as tape:
    loss = linked(mixing @ sources)
gradient = tape.gradient(loss, mixing)
print(loss, gradient)
