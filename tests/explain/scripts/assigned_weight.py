"""A log posterior of a weight that the call assigns."""

import gradtape as tf


class Posterior(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.w = self.add_weight(name="w", shape=(), initializer="ones")

    def call(self, x):
        self.w.assign(x)  # <- state
        return 0.5 * self.w**2


posterior = Posterior()
x = tf.constant(3.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = posterior(x)
print(tape.gradient(y, x))
# Advice: stateless_call
