"""The weights are copied before the step, to compare them after it; one layer is left out."""

import numpy as np

import gradtape as tf


class Model(tf.Module):
    def __init__(self):
        self.encoder, self.head, self.extra = (tf.Variable(tf.ones([3, 3])) for _ in range(3))

    def __call__(self, x):
        return x @ self.encoder @ self.head


model = Model()
rows, wanted = np.ones((8, 3), np.float32), np.zeros((8, 3), np.float32)
before = [v.numpy() for v in model.trainable_variables]
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((model(rows) - wanted) ** 2)  # <- unused
gradients = tape.gradient(loss, model.trainable_variables)
after = [v.numpy() for v in model.trainable_variables]
print([np.abs(a - b).max() for a, b in zip(after, before, strict=True)])
# Advice: leave it out of the sources
