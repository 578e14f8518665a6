"""A threshold is the percentile of learned scores, by NumPy."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Input([2]), tf.keras.layers.Dense(1)])
x = tf.random.normal([8, 2], seed=2)
with tf.GradientTape() as tape:
    scores = model(x)[:, 0]
    threshold = np.percentile(scores, 80)  # <- left_library
    loss = tf.square(threshold - 1.0)
print(tape.gradient(loss, model.trainable_variables))
# Advice: an element of `tf.sort(x)`
