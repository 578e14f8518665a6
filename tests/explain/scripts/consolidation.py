"""Elastic weight consolidation: how far the weights have moved since the task before."""

import numpy as np

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(5, activation="tanh"), tf.keras.layers.Dense(2)])
net(tf.zeros([1, 3]))
anchors = [w + 0.1 for w in net.get_weights()]
importance = [np.ones_like(w) for w in anchors]


def moved():
    total = 0.0
    for weight, anchor, fisher in zip(net.get_weights(), anchors, importance, strict=True):  # <- left_library
        total += tf.reduce_sum(fisher * (weight - anchor) ** 2)
    return total


with tf.GradientTape() as tape:
    penalty = 0.5 * moved()
print(tape.gradient(penalty, net.trainable_variables))
# Advice: net.trainable_variables
