"""A method that returns what it is given, so that no op of it is recorded."""

import gradtape as tf


class Gate(tf.Module):
    def __init__(self):
        self.scale = tf.Variable(2.0)
        self.enabled = False

    def __call__(self, x):
        if not self.enabled:  # <- branch_not_taken
            return x
        return x * self.scale


gate, w = Gate(), tf.Variable(3.0)
with tf.GradientTape() as tape:
    loss = gate(w) ** 2
print(tape.gradient(loss, [w, gate.scale]))
# Advice: make `self.enabled` true there
