"""The light that comes through murky water, by Beer and Lambert."""

import gradtape as tf

concentration = tf.Variable([3.0, 5.0])
absorption, length = 60.0, 2.0
measured = tf.constant([0.2, 0.1])

with tf.GradientTape() as tape:
    thickness = absorption * length * concentration
    transmitted = tf.exp(-thickness)  # <- underflow
    loss = tf.reduce_mean((transmitted - measured) ** 2)
gradient = tape.gradient(loss, concentration)
concentration.assign_sub(10.0 * gradient)
print(gradient)
# Advice: look at the size, or the unit
