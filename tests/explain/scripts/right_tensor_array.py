"""States of a loop are collected in a TensorArray."""

import gradtape as tf

w = tf.Variable(0.9)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        states = tf.TensorArray(tf.float32, size=5)
        for i in tf.range(5):
            x = tf.tanh(w * x)
            states = states.write(i, x)
        loss = tf.reduce_mean(states.stack() ** 2)
    return tape.gradient(loss, w)


step(tf.constant([0.5, -0.3]))
