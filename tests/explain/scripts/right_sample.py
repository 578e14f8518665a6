"""A normal sample of which mean and deviation are learned."""

import gradtape as tf

mu, rho = tf.Variable([0.0, 1.0]), tf.Variable([0.0, 0.0])
with tf.GradientTape() as tape:
    z = tf.random.normal([2], mean=mu, stddev=tf.exp(rho))
    loss = tf.reduce_sum(z**2)
tape.gradient(loss, [mu, rho])
