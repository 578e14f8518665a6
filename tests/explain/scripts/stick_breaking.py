"""Stick lengths are drawn by the inverse of Kumaraswamy's distribution function; one uniform number is 0."""

import gradtape as tf


class Sticks(tf.Module):
    def __init__(self):
        self.log_a, self.log_b = tf.Variable(0.7), tf.Variable(0.4)

    def fractions(self, uniform):
        a, b = tf.exp(self.log_a), tf.exp(self.log_b)
        return (1.0 - (1.0 - uniform) ** (1.0 / b)) ** (1.0 / a)  # <- nan_origin

    def weights(self, uniform):
        v = self.fractions(uniform)
        return v * tf.math.cumprod(1.0 - v, exclusive=True)


def elbo(sticks, uniform):
    return -tf.reduce_sum((sticks.weights(uniform) - [0.5, 0.3, 0.2]) ** 2)


sticks = Sticks()
with tf.GradientTape() as tape:
    bound = elbo(sticks, tf.constant([0.4, 0.0, 0.7]))
print(bound, tape.gradient(bound, sticks.trainable_variables))
