"""A Hamiltonian Monte Carlo step for the weights of a regression."""

import gradtape as tf


class Regression(tf.Module):
    def __init__(self):
        self.slope = tf.Variable([0.1, -0.2])

    def log_likelihood(self, x, y):
        return -0.5 * tf.reduce_sum((tf.linalg.matvec(x, self.slope) - y) ** 2)


model = Regression()
x, y = tf.constant([[1.0, 2.0], [0.5, -1.0], [2.0, 0.3]]), tf.constant([1.0, 0.0, 2.0])


def log_posterior(theta):
    model.slope.assign(theta)  # <- state
    prior = -0.5 * tf.reduce_sum(model.slope**2)
    return model.log_likelihood(x, y) + prior


def leapfrog(theta, momentum, step=0.01):
    with tf.GradientTape() as tape:
        tape.watch(theta)
        value = log_posterior(theta)
    momentum += 0.5 * step * tape.gradient(value, theta)
    return theta + step * momentum, momentum


leapfrog(tf.constant([0.3, 0.4]), tf.random.normal([2]))
# Advice: keep the new value in a tensor and compute with that
