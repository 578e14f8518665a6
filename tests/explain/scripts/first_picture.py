"""The gradient by the first picture of a batch."""

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(2)])
pictures = tf.random.uniform([2, 3, 3, 1], seed=6)
with tf.GradientTape() as tape:
    tape.watch(pictures)
    loss = tf.reduce_mean(model(pictures)[:, 1])
gradients = tape.gradient(loss, pictures[0])  # <- wrong_object
# Advice: give it a name
