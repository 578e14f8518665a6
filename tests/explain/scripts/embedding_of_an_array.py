"""Latent codes are optimized for some shapes (auto-decoder); the codes do not move."""

import numpy as np

import gradtape as tf

rng = np.random.default_rng(5)
start = rng.normal(0.0, 0.01, (4, 3)).astype("float32")
codes = tf.Variable(start, name="codes")
decoder = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
points = tf.random.uniform([4, 3])
distances = tf.random.normal([4, 1])


def step():
    with tf.GradientTape() as tape:
        given = tf.concat([points, start], axis=1)  # <- wrong_object
        loss = tf.reduce_mean((decoder(given) - distances) ** 2) + 1e-4 * tf.nn.l2_loss(start)
    return tape.gradient(loss, [codes, *decoder.trainable_variables])


step()
print(step()[0])
# Fix: tf.concat([points, codes]
