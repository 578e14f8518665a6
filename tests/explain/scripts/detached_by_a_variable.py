"""The hidden state of a cell lives in a Variable between the steps of a loop."""

import gradtape as tf

cell = tf.Variable([[0.5, 0.1], [0.2, 0.3]])
hidden = tf.Variable(tf.zeros([1, 2]), trainable=False)


@tf.function
def run(xs):
    with tf.GradientTape() as tape:
        for x in xs:
            hidden.assign(tf.tanh(hidden @ cell + x))  # <- state
        loss = tf.reduce_mean((hidden - 1.0) ** 2)
    return loss, tape.gradient(loss, cell)


run(tf.ones([3, 1, 2]))
# Advice: keep the new value in a tensor
