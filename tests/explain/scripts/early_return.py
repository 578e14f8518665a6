"""A model that returns early without a mask."""

import gradtape as tf

inner, gate = tf.keras.layers.Dense(3), tf.Variable([1.0, 1.0, 1.0])


def gated(x, mask=None):
    h = inner(x)
    if mask is None:  # <- branch_not_taken
        return h
    return h * gate * mask


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(gated(x) ** 2)
    return tape.gradient(loss, [gate, *inner.trainable_variables])


inner.build((None, 2))
step(tf.ones([2, 2]))
# Advice: call with `gated(x, mask=…)`
