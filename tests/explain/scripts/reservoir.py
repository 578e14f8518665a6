"""The level of a reservoir after a week; the share that evaporates is to be learned."""

import gradtape as tf


class Reservoir(tf.Module):
    def __init__(self):
        self.evaporation = tf.Variable(0.05)
        self.level = tf.Variable(10.0, trainable=False)

    def day(self, rain):
        self.level.assign((1.0 - self.evaporation) * self.level + rain)  # <- state

    def week(self, rains):
        for rain in tf.unstack(rains):
            self.day(rain)
        return self.level


lake = Reservoir()


@tf.function
def fit_step(rains, measured):
    with tf.GradientTape() as tape:
        error = tf.square(lake.week(rains) - measured)
    return tape.gradient(error, lake.evaporation)


print(fit_step(tf.constant([0.1, 0.0, 0.4, 0.0, 0.0, 0.2, 0.0]), tf.constant(9.0)))
# Advice: keep the new value in a tensor
