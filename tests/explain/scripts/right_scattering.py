"""Debye's formula with the limit at 0 put in, safe on both sides of the condition."""

import gradtape as tf

q = tf.linspace(0.5, 4.0, 8)
atoms = tf.Variable([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [0.0, 1.2, 0.4]])
measured = tf.constant([8.8, 7.1, 5.0, 3.4, 2.8, 2.7, 2.9, 3.0])
with tf.GradientTape() as tape:
    squared = tf.reduce_sum((atoms[:, None] - atoms[None]) ** 2, axis=-1)
    apart = squared > 0.0
    qr = q[:, None, None] * tf.sqrt(tf.where(apart, squared, 1.0))
    sinc = tf.where(apart, tf.sin(qr) / qr, 1.0)
    loss = tf.reduce_mean((tf.reduce_sum(sinc, axis=[1, 2]) - measured) ** 2)
print(loss, tape.gradient(loss, atoms))
