"""The log probability of an action whose deviation is 0."""

import gradtape as tf

mean, raw = tf.Variable([0.2]), tf.Variable([-200.0])


@tf.function
def step(action):
    with tf.GradientTape() as tape:
        sigma = tf.nn.softplus(raw)
        log_prob = -0.5 * ((action - mean) / sigma) ** 2 - tf.math.log(sigma)  # <- inf_origin
        loss = -tf.reduce_sum(log_prob)
    return tape.gradient(loss, [mean, raw])


step(tf.constant([0.5]))
# Fix: tf.abs(sigma) < 0.001
