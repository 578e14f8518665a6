"""A learned feature is put into bins by a layer before it is embedded."""

import gradtape as tf

project = tf.keras.layers.Dense(1, kernel_initializer="ones")
bins = tf.keras.layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0])
embed, out = tf.keras.layers.Embedding(4, 2), tf.keras.layers.Dense(1)
x, y = tf.constant([[0.5, 0.2], [1.5, 0.9], [0.1, -2.0]]), tf.ones([3, 1])
with tf.GradientTape() as tape:
    codes = bins(project(x))  # <- not_differentiable
    h = embed(codes)[:, 0]
    loss = tf.reduce_mean((out(h) - y) ** 2)
print(tape.gradient(loss, project.trainable_variables))
# Advice: interpolate between the places
