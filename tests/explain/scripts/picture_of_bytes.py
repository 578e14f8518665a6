"""The saliency of a picture that is kept as bytes."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(2)])
picture = tf.constant(np.full((1, 4, 4, 1), 120, np.uint8))  # <- not_floating
with tf.GradientTape() as tape:
    tape.watch(picture)
    scores = model(tf.cast(picture, tf.float32) / 255.0)
    best = scores[:, 0]
print(tape.gradient(best, picture))
