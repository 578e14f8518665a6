"""A Dirichlet policy whose concentration is zero."""

import gradtape as tf

raw = tf.Variable([-200.0, 1.0])
share = tf.constant([0.4, 0.6])


@tf.function
def step():
    with tf.GradientTape() as tape:
        alpha = tf.nn.softplus(raw)
        log_b = tf.reduce_sum(tf.math.lgamma(alpha)) - tf.math.lgamma(tf.reduce_sum(alpha))  # <- nan_origin
        loss = log_b - tf.reduce_sum((alpha - 1.0) * tf.math.log(share))
    return tape.gradient(loss, raw)


step()
# Advice: tf.maximum(x, 1e-12)
