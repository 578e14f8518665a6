"""Lennard-Jones energies whose own pairs a mask leaves out."""

import gradtape as tf

position = tf.Variable([[0.0, 0.0], [1.0, 0.0], [0.0, 1.2]])


@tf.function
def forces():
    with tf.GradientTape() as tape:
        square = tf.reduce_sum((position[:, None] - position[None]) ** 2, axis=-1)
        inverse = 1.0 / square**3  # <- nan_origin
        energy = 4.0 * (inverse**2 - inverse)
        total = 0.5 * tf.reduce_sum(tf.where(tf.eye(3, dtype=tf.bool), 0.0, energy))
    return tape.gradient(total, position)


forces()
