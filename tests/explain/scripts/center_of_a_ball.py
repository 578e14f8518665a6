"""The Laplacian in a ball, at its center."""

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(6, activation="tanh"), tf.keras.layers.Dense(1)])
net.build([None, 1])


@tf.function
def step(r):
    with tf.GradientTape() as tape:
        with tf.GradientTape() as outer:
            outer.watch(r)
            with tf.GradientTape() as inner:
                inner.watch(r)
                u = net(r * r)
            u_r = inner.gradient(u, r)
        u_rr = outer.gradient(u_r, r)
        laplacian = u_rr + 2.0 * u_r / r  # <- nan_origin
        loss = tf.reduce_mean((laplacian - 1.0) ** 2)
    return tape.gradient(loss, net.trainable_variables[:1])


step(tf.constant([[0.0], [0.5], [1.0]]))
