"""The standard deviation of a batch of one."""

import gradtape as tf

w = tf.Variable([[0.3, -0.2], [0.1, 0.4]])
x = tf.constant([[1.0, 2.0]])


@tf.function
def step():
    with tf.GradientTape() as tape:
        h = x @ w
        spread = tf.math.reduce_std(h, axis=0)  # <- nan_origin
        loss = tf.reduce_mean(tf.nn.relu(1.0 - spread))
    return tape.gradient(loss, w)


step()
