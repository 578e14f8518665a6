"""A straight-through step whose parentheses are wrong."""

import gradtape as tf

w = tf.Variable([[0.3, -0.7], [1.2, 0.4]])


def binarize(x):
    soft = tf.sigmoid(x)
    hard = tf.round(soft)
    return soft + tf.stop_gradient(hard) - soft  # <- cancelled


with tf.GradientTape() as tape:
    out = binarize(tf.ones([3, 2]) @ w)
    loss = tf.reduce_mean((out - 0.5) ** 2 * tf.constant([1.0, 2.0]))
print(tape.gradient(loss, w))
# Fix: tf.stop_gradient(hard - soft)
