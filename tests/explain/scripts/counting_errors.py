"""A spectrum is fitted with the errors of its counts; some channels have no count."""

import numpy as np

import gradtape as tf

channel = tf.range(8.0)
counts = tf.constant(np.array([0, 2, 9, 30, 41, 22, 5, 0]), tf.float32)
height, place, width = tf.Variable(35.0), tf.Variable(3.8), tf.Variable(1.2)


def chi_square(expected, counts):
    sigma = tf.sqrt(counts)
    return tf.reduce_sum(((expected - counts) / sigma) ** 2)  # <- inf_origin


optimizer = tf.keras.optimizers.Adam(0.1)
for _ in range(2):
    with tf.GradientTape() as tape:
        expected = height * tf.exp(-0.5 * ((channel - place) / width) ** 2)
        loss = chi_square(expected, counts)
    gradients = tape.gradient(loss, [height, place, width])
    print(float(loss), [float(g) for g in gradients])
    if not np.isfinite(gradients[0]):
        break
    optimizer.apply_gradients(zip(gradients, [height, place, width], strict=True))
# Fix: tf.math.divide_no_nan(expected - counts, sigma)
