"""A penalty that is written, and never called."""

import gradtape as tf

w, scale = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 1.0])


def penalty():
    return 0.1 * tf.reduce_sum(scale**2)


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((w * x) ** 2)  # <- unused
    return tape.gradient(loss, [w, scale])


step(tf.constant([1.0, 1.0]))
# Advice: call `penalty`
