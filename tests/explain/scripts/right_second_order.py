"""A second derivative by two tapes, of a smooth network."""

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
x = tf.constant([[0.1], [0.5]])
with tf.GradientTape() as tape:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            u = net(x)
        u_x = inner.gradient(u, x)
    u_xx = outer.gradient(u_x, x)
    loss = tf.reduce_mean((u_xx + u) ** 2)
tape.gradient(loss, net.trainable_variables[:3])
