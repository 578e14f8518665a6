"""A deviation by the difference of two means, which rounding makes negative."""

import numpy as np

import gradtape as tf

dense = tf.keras.layers.Dense(3, kernel_initializer="zeros", bias_initializer=tf.keras.initializers.Constant(1000.1))
dense.build((None, 2))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        h = dense(x)
        variance = tf.reduce_mean(h**2, axis=0) - tf.reduce_mean(h, axis=0) ** 2
        loss = tf.reduce_mean(tf.sqrt(variance))  # <- nan_origin
    return tape.gradient(loss, dense.trainable_variables)


step(np.random.default_rng(1).normal(size=(7, 2)).astype("float32"))
# Fix: or start from other values
