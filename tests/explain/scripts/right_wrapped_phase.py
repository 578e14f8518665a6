"""A phase that is wrapped by a remainder."""

import gradtape as tf

speed = tf.Variable(1.7)


@tf.function
def step(times):
    with tf.GradientTape() as tape:
        phase = tf.math.floormod(speed * times, 2.0)
        loss = tf.reduce_mean((phase - 0.5) ** 2)
    return tape.gradient(loss, speed)


step(tf.constant([0.1, 1.0, 2.5]))
