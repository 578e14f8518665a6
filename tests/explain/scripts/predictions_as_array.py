"""A loss of predictions that are made an array."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
mse = tf.keras.losses.MeanSquaredError()
features = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")
labels = np.ones((6, 1), "float32")

for _ in range(2):
    with tf.GradientTape() as tape:
        predictions = model(features, training=True).numpy()  # <- left_library
        loss = mse(labels, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
