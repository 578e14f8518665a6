"""A penalty whose weight is annealed from 0."""

import gradtape as tf

mean, log_var = tf.Variable([0.3]), tf.Variable([0.1])
beta = tf.Variable(0.0, trainable=False)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        kl = -0.5 * tf.reduce_sum(1.0 + log_var - mean**2 - tf.exp(log_var))
        loss = tf.reduce_sum((x - mean) ** 2) + beta * kl  # <- zero_factor
    return tape.gradient(loss, [mean, log_var])


step(tf.constant([1.0]))
# Advice: start beta at other values
