"""A penalty is computed from `get_weights`."""

import numpy as np

import gradtape as tf

layer = tf.keras.layers.Dense(2, use_bias=False)
layer.build([None, 3])


def penalty():
    w = layer.get_weights()[0]  # <- left_library
    return tf.reduce_sum((w.T @ w - np.eye(2, dtype="float32")) ** 2)


with tf.GradientTape() as tape:
    loss = penalty()
print(tape.gradient(loss, layer.trainable_variables))
# Advice: `layer.trainable_variables`
