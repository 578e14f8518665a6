"""A picture is stretched to the range of 0 to 1, and is flat."""

import gradtape as tf

gain = tf.Variable(2.0)


def stretch(x):
    low, high = tf.reduce_min(x), tf.reduce_max(x)
    return (x - low) / (high - low)  # <- nan_origin


picture = tf.fill([2, 2], 0.5)
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(stretch(gain * picture) ** 2)
print(tape.gradient(loss, gain))
