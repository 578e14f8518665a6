"""The distances of all pairs, those of a point with itself among them."""

import gradtape as tf

net = tf.keras.layers.Dense(2)


def distances(x):
    gaps = tf.reduce_sum((x[:, None] - x[None]) ** 2, axis=-1)
    return tf.sqrt(gaps)  # <- nan_origin


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(distances(net(x)))
    return tape.gradient(loss, net.trainable_variables)


step(tf.random.normal([3, 4], seed=2))
