"""The weights of an ensemble are learned, and averaged by NumPy."""

import numpy as np

import gradtape as tf

predictions = np.array([[0.1, 0.9, 0.4], [0.3, 0.6, 0.8]], "float32")
labels = tf.constant([0.0, 1.0, 1.0])
weights = tf.Variable([0.5, 0.5])


def ensemble_loss():
    mixed = np.average(predictions, axis=0, weights=weights)  # <- left_library
    return tf.reduce_mean(tf.square(labels - mixed))


optimizer = tf.keras.optimizers.SGD(0.1)
for _ in range(2):
    with tf.GradientTape() as tape:
        loss = ensemble_loss()
    gradient = tape.gradient(loss, weights)
# Advice: tf.tensordot(weights, values, 1) / tf.reduce_sum(weights)
