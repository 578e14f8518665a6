"""A squashed action that is far out, in an entropy term."""

import gradtape as tf

log_std = tf.Variable([3.0, 3.0])


@tf.function
def step(noise):
    with tf.GradientTape() as tape:
        action = tf.tanh(tf.exp(log_std) * noise)  # <- saturated
        entropy = -tf.reduce_sum(tf.math.log(1.0 - action**2 + 1e-6))
    return tape.gradient(entropy, log_std)


step(tf.constant([3.0, -3.0]))
# Advice: scale its input down
