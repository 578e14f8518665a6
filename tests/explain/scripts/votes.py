"""Votes of the first members of an ensemble."""

import gradtape as tf

nets = [tf.keras.layers.Dense(1) for _ in range(3)]
x, y = tf.random.normal([4, 2]), tf.ones([4, 1])
for net in nets:
    net(x)
with tf.GradientTape() as tape:
    votes = [net(x) for net in nets[:2]]  # <- branch_not_taken
    loss = tf.reduce_mean((tf.add_n(votes) / 3.0 - y) ** 2)
tape.gradient(loss, [v for net in nets for v in net.trainable_variables])
# Advice: look where it begins and ends
