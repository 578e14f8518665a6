"""The error of a Q-network is clipped."""

import gradtape as tf

w = tf.Variable([0.5, -0.5])
states = tf.constant([[1.0, 2.0], [3.0, 1.0]])
targets = tf.constant([10.0, -8.0])


def loss_of(states, targets):
    error = targets - tf.linalg.matvec(states, w)
    clipped = tf.clip_by_value(error, -1.0, 1.0)  # <- clipped
    return tf.reduce_mean(clipped**2)


with tf.GradientTape() as tape:
    loss = loss_of(states, targets)
print(tape.gradient(loss, w))
# Advice: pass the gradient straight through
