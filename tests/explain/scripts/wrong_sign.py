"""A reward for nearness with the wrong sign before a relu."""

import gradtape as tf

position = tf.Variable([1.0, 2.0])
goal = tf.constant([0.0, 0.5])


@tf.function
def step():
    with tf.GradientTape() as tape:
        distance = tf.reduce_sum((position - goal) ** 2)
        loss = tf.nn.relu(-distance)  # <- dead_relu
    return tape.gradient(loss, position)


step()
# Advice: look at its sign
