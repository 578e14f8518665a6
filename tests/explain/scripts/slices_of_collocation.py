"""Burgers' equation by a physics-informed network. u_t and u_x are None."""

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(1)])
points = tf.random.uniform([32, 2])
nu = 0.01


def residual(points):
    t, x = points[:, 0:1], points[:, 1:2]
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape(persistent=True) as first:
            first.watch(t)
            first.watch(x)
            u = net(points)  # <- unused
        u_t = first.gradient(u, t)
        u_x = first.gradient(u, x)
    u_xx = second.gradient(u_x, x)
    return u_t + u * u_x - nu * u_xx


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(residual(points) ** 2)
print(tape.gradient(loss, net.trainable_variables))
# Advice: and u from it
