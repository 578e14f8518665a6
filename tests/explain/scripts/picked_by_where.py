"""Coordinates that tf.where finds are averaged as the place of a peak."""

import gradtape as tf

conv = tf.keras.layers.Conv2D(1, 3, padding="same", kernel_initializer="ones")
picture = tf.random.uniform([1, 6, 6, 1], seed=1)
with tf.GradientTape() as tape:
    heat = conv(picture)[0, :, :, 0]
    places = tf.where(heat > tf.reduce_mean(heat))  # <- not_differentiable
    center = tf.reduce_mean(tf.cast(places, tf.float32), axis=0)
    loss = tf.reduce_sum((center - [2.0, 2.0]) ** 2)
print(tape.gradient(loss, conv.trainable_variables))
# Advice: tf.sigmoid(heat - tf.reduce_mean(heat))
