"""Coordinates are stacked before the tape of a physics-informed network."""

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)])
net.build([None, 2])


@tf.function
def residual(x, t):
    points = tf.concat([x, t], axis=1)  # <- outside_tape
    with tf.GradientTape() as tape:
        tape.watch([x, t])
        u = net(points)
    u_x, u_t = tape.gradient(u, [x, t])
    return u_x, u_t


residual(tf.random.uniform([5, 1], seed=1), tf.random.uniform([5, 1], seed=2))
