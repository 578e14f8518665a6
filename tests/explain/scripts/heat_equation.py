"""Points that only the outer tape watches."""

import gradtape as tf

pinn = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(1)])


def residual(model, x, t):
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, t])
        with tf.GradientTape(persistent=True) as inner:
            u = model(tf.concat([x, t], axis=1))
        u_x = inner.gradient(u, x)
        u_t = inner.gradient(u, t)
    u_xx = outer.gradient(u_x, x)
    return u_t - 0.1 * u_xx


points = tf.random.stateless_uniform([5, 1], [0, 1])  # <- not_watched
times = tf.random.stateless_uniform([5, 1], [0, 2])
residual(pinn, points, times)
