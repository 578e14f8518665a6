"""Band filters whose middle tap is set by its limit."""

import numpy as np

import gradtape as tf

times = tf.range(-3.0, 4.0)
low, high = tf.Variable(0.1), tf.Variable(0.3)


def taps(frequency):
    safe = tf.where(times == 0.0, 1.0, times)
    return tf.where(times == 0.0, 2.0 * frequency, tf.sin(2.0 * np.pi * frequency * safe) / (np.pi * safe))


@tf.function
def step(sound):
    with tf.GradientTape() as tape:
        kernel = taps(high) - taps(low)
        loss = tf.reduce_mean(tf.nn.conv1d(sound, kernel[:, None, None], 1, "SAME") ** 2)
    return tape.gradient(loss, [low, high])


print(step(tf.random.normal([2, 16, 1])))
