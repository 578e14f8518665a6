"""Experts that are switched on by a flag."""

import gradtape as tf


class Expert(tf.Module):
    def __init__(self, on):
        self.on, self.gain = on, tf.Variable(1.5)

    def __call__(self, x):
        return self.gain * x


class Mixture(tf.Module):
    def __init__(self):
        self.experts = [Expert(True), Expert(False), Expert(True)]

    def __call__(self, x):
        return sum(expert(x) for expert in self.experts if expert.on)  # <- branch_not_taken


mixture = Mixture()


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(mixture(x) ** 2)
    return tape.gradient(loss, mixture.trainable_variables)


print(step(tf.ones([3])))
# Advice: let the condition take it in
