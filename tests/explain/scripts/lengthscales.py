"""A Gaussian process with one positive length scale for each input."""

import gradtape as tf


class Process:
    def __init__(self, inputs):
        self.scales = [tf.Variable(0.1 * k, name=f"log_scale_{k}") for k in range(inputs)]
        self.noise = tf.Variable(-1.0)
        self.scales = [tf.exp(s) for s in self.scales]  # <- rebound

    def negative_log_likelihood(self, x, y):
        scaled = x / tf.stack(self.scales)
        distance = tf.reduce_sum((scaled[:, None] - scaled[None]) ** 2, -1)
        kernel = tf.exp(-0.5 * distance) + tf.exp(self.noise) * tf.eye(len(x))
        chol = tf.linalg.cholesky(kernel)
        half = tf.linalg.triangular_solve(chol, y[:, None])
        return 0.5 * tf.reduce_sum(half**2) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(chol)))


def fit(process, x, y):
    parameters = [*process.scales, process.noise]
    with tf.GradientTape() as tape:
        loss = process.negative_log_likelihood(x, y)
    return tape.gradient(loss, parameters)


print(fit(Process(2), tf.constant([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0]]), tf.constant([0.0, 1.0, 0.5])))
# Advice: under a name of their own
