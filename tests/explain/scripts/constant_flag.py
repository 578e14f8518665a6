"""A penalty is switched off by a constant of the module."""

import gradtape as tf

USE_PENALTY = False
w, gate = tf.Variable([1.0, 2.0]), tf.Variable(0.3)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((w * x) ** 2)
        if USE_PENALTY:  # <- branch_not_taken
            loss += tf.abs(gate)
    return tape.gradient(loss, [w, gate])


step(tf.constant([1.0, 1.0]))
# Advice: make `USE_PENALTY` true
