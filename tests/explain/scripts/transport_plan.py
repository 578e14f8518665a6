"""A transport plan with a regularization that is too small."""

import gradtape as tf

cost = tf.Variable([[1.0, 2.0], [3.0, 1.5]])


@tf.function
def step(epsilon):
    with tf.GradientTape() as tape:
        kernel = tf.exp(-cost / epsilon)
        plan = kernel / tf.reduce_sum(kernel, axis=1, keepdims=True)  # <- nan_origin
        loss = tf.reduce_sum(plan * cost)
    return tape.gradient(loss, cost)


step(tf.constant(0.001))
