"""A module's variable is replaced by a tensor in its call."""

import gradtape as tf


class Scaled(tf.Module):
    def __init__(self):
        super().__init__()
        self.scale = tf.Variable(2.0)

    def __call__(self, x):
        self.scale = self.scale * 0.99  # <- rebound
        return self.scale * x


module = Scaled()
module(tf.constant(1.0))
with tf.GradientTape() as tape:
    loss = module(tf.constant(3.0)) ** 2
print(tape.gradient(loss, module.scale))
# Fix: self.scale.assign(self.scale * 0.99)
