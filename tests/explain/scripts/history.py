"""Losses that are collected as numbers and added up."""

import gradtape as tf

heads = [tf.keras.layers.Dense(2) for _ in range(3)]
x, y = tf.ones([5, 4]), tf.zeros([5, 2])
losses = []
with tf.GradientTape() as tape:
    for head in heads:
        error = head(x) - y
        losses.append(tf.reduce_mean(error**2).numpy())  # <- left_library
    total = tf.add_n([tf.constant(value) for value in losses])
tape.gradient(total, [v for head in heads for v in head.trainable_variables])
