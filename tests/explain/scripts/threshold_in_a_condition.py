"""A threshold is to be learned by a tf.cond."""

import gradtape as tf

threshold = tf.Variable(0.5)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        y = tf.cond(tf.reduce_mean(x) > threshold, lambda: 2.0 * x, lambda: 0.5 * x)  # <- not_differentiable
        loss = tf.reduce_sum(y**2)
    return tape.gradient(loss, threshold)


step(tf.ones([3]))
# Advice: a soft weight
