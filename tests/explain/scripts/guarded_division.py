"""A division that a tf.where guards."""

import gradtape as tf

layer = tf.keras.layers.Dense(2, kernel_initializer="ones")


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        n, d = tf.split(layer(x), 2, axis=1)
        ratio = tf.where(tf.equal(d, 0.0), tf.zeros_like(n), n / d)  # <- nan_origin
        loss = tf.reduce_sum(ratio)
    return tape.gradient(loss, layer.trainable_variables)


step(tf.constant([[0.0, 0.0], [1.0, 2.0]]))
