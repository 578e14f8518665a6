"""The divergence of a prior is below its free bits."""

import gradtape as tf

prior_mean = tf.Variable([0.1, -0.2])
mean, log_var = tf.constant([0.0, 0.0]), tf.constant([0.0, 0.0])


@tf.function
def divergence():
    kl = 0.5 * (tf.exp(log_var) + (mean - prior_mean) ** 2 - 1.0 - log_var)
    return tf.reduce_sum(tf.maximum(kl, 0.5))  # <- clipped


with tf.GradientTape() as tape:
    loss = divergence()
print(tape.gradient(loss, prior_mean))
# Advice: start kl inside of them
