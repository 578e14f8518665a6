"""A function whose condition takes one of two heads, both of which are used."""

import gradtape as tf

a, b = tf.Variable(1.0), tf.Variable(2.0)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        y = a * x
        for i in tf.range(3):
            if i % 2 == 0:
                y = y * b
            else:
                y = y + a
        loss = y**2
    return tape.gradient(loss, [a, b])


step(tf.constant(1.5))
