"""An equation of motion that is integrated in a loop."""

import gradtape as tf

damping, stiffness = tf.Variable(0.1), tf.Variable(2.0)


@tf.function
def step():
    with tf.GradientTape() as tape:
        x, v = tf.constant(1.0), tf.constant(0.0)
        for _ in tf.range(10):
            v = v - 0.1 * (stiffness * x + damping * v)
            x = x + 0.1 * v
        loss = (x - 0.2) ** 2
    return tape.gradient(loss, [damping, stiffness])


step()
