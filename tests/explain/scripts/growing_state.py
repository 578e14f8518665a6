"""The state of a recurrent network grows without a bound."""

import gradtape as tf

w = tf.Variable([[4.0, 1.0], [1.0, 4.0]])


@tf.function
def step(h):
    with tf.GradientTape() as tape:
        for _ in tf.range(80):
            h = tf.nn.relu(h @ w)  # <- inf_origin
        loss = tf.reduce_mean(h)
    return tape.gradient(loss, w)


step(tf.ones([1, 2]))
# Advice: another initialization
