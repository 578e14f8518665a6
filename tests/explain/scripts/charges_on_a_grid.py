"""Charges are laid on the cells of a grid, for the energy of a plasma."""

import gradtape as tf

places = tf.constant([0.2, 1.7, 1.1, 3.5])
charges = tf.Variable([1.0, -1.0, 0.5, 2.0])


def density(charges):
    cells = tf.cast(tf.floor(places), tf.int32)
    return tf.math.bincount(cells, weights=charges, minlength=4, dtype=tf.float32)  # <- no_gradient_registered


@tf.function
def energy_gradient():
    with tf.GradientTape() as tape:
        rho = density(charges)
        energy = 0.5 * tf.reduce_sum(rho**2)
    return tape.gradient(energy, charges)


print(energy_gradient())
# Advice: tf.math.unsorted_segment_sum
