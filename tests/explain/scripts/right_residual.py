"""A physics-informed residual."""

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(6, activation="tanh"), tf.keras.layers.Dense(1)])


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                u = net(x)
            u_x = first.gradient(u, x)
        u_xx = second.gradient(u_x, x)
        loss = tf.reduce_mean((u_xx + u) ** 2)
    return tape.gradient(loss, net.trainable_variables)


net.build((None, 1))
step(tf.constant([[0.1], [0.4]]))
