"""A batch of blank pictures."""

import numpy as np

import gradtape as tf

dense = tf.keras.layers.Dense(3, use_bias=False)
pictures = np.zeros((4, 5, 5), "float32")


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        scores = dense(tf.reshape(x, [4, 25]))  # <- zero_factor
        loss = tf.reduce_mean((scores - 1.0) ** 2)
    return tape.gradient(loss, dense.trainable_variables)


step(pictures)
# Advice: an input of zeros
