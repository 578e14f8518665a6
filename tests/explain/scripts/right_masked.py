"""A frozen first layer, and a loss of the second one alone."""

import gradtape as tf

first, second = tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)
x = tf.random.normal([4, 2], seed=1)
with tf.GradientTape() as tape:
    h = tf.stop_gradient(first(x))
    loss = tf.reduce_mean((second(h) - 1.0) ** 2)
tape.gradient(loss, second.trainable_variables)
