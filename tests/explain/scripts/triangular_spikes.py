"""A spiking network with the triangular surrogate of a paper. Loss does not change."""

import gradtape as tf

threshold, decay = 1.0, 0.9


@tf.custom_gradient
def fire(v):
    z = tf.where(v > threshold, 1.0, 0.0)

    def grad(dz):
        distance = tf.abs(v - threshold) / threshold
        pseudo = tf.nn.relu(1.0 - distance)
        return 0.3 * pseudo * dz  # <- zero_factor

    return z, grad


w = tf.Variable(tf.fill([4, 2], -1.5))
inputs = tf.ones([5, 1, 4])
wanted = tf.constant([[3.0, 1.0]])
with tf.GradientTape() as tape:
    v, count = tf.zeros([1, 2]), 0.0
    for t in range(5):
        v = decay * v + inputs[t] @ w
        z = fire(v)
        count += z
    loss = tf.reduce_sum((count - wanted) ** 2)
print(loss, tape.gradient(loss, w))
# Advice: give pseudo other values
