"""A heat equation whose two derivatives are taken after the block."""

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)])
x = tf.reshape(tf.linspace(0.0, 1.0, 5), [5, 1])
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    u = net(x)
u_x = tape.gradient(u, x)  # <- other_tape
u_xx = tape.gradient(u_x, x)
