"""Debye's formula of scattering from atoms whose places are fitted; the sum has each atom with itself."""

import gradtape as tf

q = tf.linspace(0.5, 4.0, 8)
atoms = tf.Variable([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 1.2, 0.4]])
measured = tf.constant([8.8, 7.1, 5.0, 3.4, 2.8, 2.7, 2.9, 3.0])


def intensity(atoms):
    difference = atoms[:, None] - atoms[None]
    r = tf.sqrt(tf.reduce_sum(difference**2, axis=-1) + 1e-20)
    r = r - 1e-10
    qr = q[:, None, None] * tf.nn.relu(r)
    return tf.reduce_sum(tf.sin(qr) / qr, axis=[1, 2])  # <- nan_origin


with tf.GradientTape() as tape:
    loss = tf.reduce_mean((intensity(atoms) - measured) ** 2)
print(loss, tape.gradient(loss, atoms))
# Fix: tf.where(qr == 0.0
