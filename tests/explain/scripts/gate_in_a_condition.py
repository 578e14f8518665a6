"""A correction that a condition of a function leaves out."""

import gradtape as tf

w = tf.Variable([1.0, 2.0])
correction = tf.Variable([0.1, 0.1])


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        y = w * x
        if tf.reduce_max(tf.abs(y)) > 100.0:  # <- branch_not_taken
            y = y * correction
        loss = tf.reduce_sum(y**2)
    return tape.gradient(loss, [w, correction])


step(tf.constant([1.0, -1.0]))
# Advice: come out the other way
