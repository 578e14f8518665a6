"""A residual with the second derivative of a network of relu."""

import gradtape as tf

hidden = tf.keras.layers.Dense(8, activation="relu")
out = tf.keras.layers.Dense(1)


@tf.function
def residual(x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            h = hidden(x)  # <- piecewise_constant
            u = out(h)
        u_x = inner.gradient(u, x)
    return outer.gradient(u_x, x)


residual(tf.constant([[0.1], [0.5], [0.9]]))
# Advice: tf.nn.softplus
