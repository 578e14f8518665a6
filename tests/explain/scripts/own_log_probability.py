"""The score of a variational distribution at its own sample."""

import math

import gradtape as tf


class Gaussian(tf.Module):
    def __init__(self, size):
        self.mean = tf.Variable(tf.random.normal([size]))
        self.log_scale = tf.Variable(tf.zeros([size]))

    def sample(self):
        return self.mean + tf.exp(self.log_scale) * tf.random.normal(self.mean.shape)

    def log_prob(self, z):
        standard = (z - self.mean) / tf.exp(self.log_scale)  # <- cancelled
        return tf.reduce_sum(-0.5 * standard**2 - self.log_scale - 0.5 * math.log(2 * math.pi))


def score(posterior):
    with tf.GradientTape() as tape:
        z = posterior.sample()
        value = posterior.log_prob(z)
    return tape.gradient(value, posterior.mean)


print(score(Gaussian(3)))
# Advice: as a sample is to its own probability
