"""A residual whose solution has a root at the wall."""

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Input([1]), tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
x = tf.constant([[0.0], [0.5], [1.0]])
with tf.GradientTape() as tape:
    with tf.GradientTape() as inner:
        inner.watch(x)
        u = tf.sqrt(x) * net(x)  # <- nan_origin
    u_x = inner.gradient(u, x)
    loss = tf.reduce_mean((u_x - 1.0) ** 2)
print(tape.gradient(loss, net.trainable_variables))
# Fix: tf.maximum(x, 1e-12)
