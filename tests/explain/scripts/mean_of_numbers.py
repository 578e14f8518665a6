"""The mean of losses that were kept as numbers."""

from collections import deque

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Input([2]), tf.keras.layers.Dense(1)])
recent = deque(maxlen=3)
with tf.GradientTape() as tape:
    for k in range(3):
        x = tf.random.normal([4, 2], seed=k)
        recent.append(tf.reduce_mean((model(x) - 1.0) ** 2).numpy())  # <- left_library
    loss = tf.convert_to_tensor(np.mean(recent))
print(tape.gradient(loss, model.trainable_variables))
# Fix: tf.reduce_mean(list(recent))
