"""An unrolled solver that takes no step."""

import gradtape as tf

rate = tf.Variable(0.1)


@tf.function
def solve(x, steps):
    with tf.GradientTape() as tape:
        for _ in tf.range(steps):  # <- branch_not_taken
            x = x - rate * 2.0 * x
        loss = tf.reduce_sum(x**2)
    return tape.gradient(loss, rate)


solve(tf.constant([1.0, 2.0]), tf.constant(0))
# Advice: let the loop run once
