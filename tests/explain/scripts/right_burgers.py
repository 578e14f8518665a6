"""Burgers' equation by a network of the two coordinates, in functions."""

import gradtape as tf

net = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="tanh"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def residual(t, x):
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape(persistent=True) as first:
            first.watch([t, x])
            u = net(tf.concat([t, x], axis=1))
        u_t, u_x = first.gradient(u, t), first.gradient(u, x)
    return u_t + u * u_x - 0.01 * second.gradient(u_x, x)


@tf.function
def step(t, x):
    with tf.GradientTape() as tape:
        start = net(tf.concat([tf.zeros_like(x), x], axis=1)) + tf.sin(3.14159 * x)
        loss = tf.reduce_mean(residual(t, x) ** 2) + tf.reduce_mean(start**2)
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables, strict=True))
    return loss


net(tf.zeros([1, 2]))
optimizer.build(net.trainable_variables)
for _ in range(2):
    print(step(tf.random.uniform([32, 1]), tf.random.uniform([32, 1], -1.0, 1.0)))
