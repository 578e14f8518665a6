"""Waiting times by a log-normal likelihood; somebody did not have to wait at all."""

import gradtape as tf

waited = tf.constant([3.0, 12.0, 0.0, 7.5, 1.2])
age = tf.constant([[30.0], [61.0], [45.0], [52.0], [22.0]]) / 50.0
mean = tf.keras.layers.Dense(1)
log_sigma = tf.Variable(0.0)


def negative_log_likelihood(t, mu, log_sigma):
    log_t = tf.math.log(t)  # <- inf_origin
    z = (log_t - mu) / tf.exp(log_sigma)
    return 0.5 * z**2 + log_sigma + log_t


mean(age)
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(negative_log_likelihood(waited, mean(age)[:, 0], log_sigma))
gradients = tape.gradient(loss, [*mean.trainable_variables, log_sigma])
print(loss, gradients)
# Fix: tf.maximum(t, 1e-12)
