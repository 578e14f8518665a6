"""A physics-informed network with hard boundary conditions, trained at the boundary."""

import gradtape as tf

network = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)])
ends = tf.constant([[0.0], [1.0]])
network(ends)


def solution(x):
    return x * (1.0 - x) * network(x)  # <- zero_factor


def boundary_loss():
    return tf.reduce_mean((solution(ends) - 0.25) ** 2)


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = boundary_loss()
    return loss, tape.gradient(loss, network.trainable_variables)


print(train_step())
# Advice: look which of `x`, `1.0 - x`, `network(x)`
