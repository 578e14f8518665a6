"""The divergence of a normal distribution whose scale collapsed."""

import gradtape as tf

raw = tf.Variable([-1.0, 0.5])


@tf.function
def step():
    with tf.GradientTape() as tape:
        sigma = tf.nn.relu(raw)
        kl = 0.5 * sigma**2 - tf.math.log(sigma)  # <- nan_origin
        loss = tf.reduce_sum(kl)
    return tape.gradient(loss, raw)


step()
