"""The predictions of `predict` are differentiated."""

import numpy as np

import gradtape as tf

model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
x, y = np.ones((4, 3), "float32"), np.zeros((4, 1), "float32")
with tf.GradientTape() as tape:
    out = model.predict(x, verbose=0)  # <- left_library
    loss = tf.reduce_mean((out - y) ** 2)
tape.gradient(loss, model.trainable_weights)
