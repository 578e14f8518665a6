"""Predictions of an epoch are collected, and a loss of all is taken at its end."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Input([2]), tf.keras.layers.Dense(1)])
data = tf.data.Dataset.from_tensor_slices((tf.random.normal([6, 2], seed=1), tf.ones([6, 1]))).batch(2)
predictions, labels = [], []
with tf.GradientTape() as tape:
    for x, y in data:
        predictions.extend(model(x, training=True).numpy())  # <- left_library
        labels.extend(y.numpy())
    loss = tf.reduce_mean((np.array(predictions) - np.array(labels)) ** 2)
print(tape.gradient(loss, model.trainable_variables))
# Fix: tf.stack(list(predictions))
