"""The energy of a quantum circuit; its angles start at zero."""

import gradtape as tf

angles = tf.Variable(tf.zeros([3]))


def energy(theta, coupling=0.5):
    z = tf.cos(theta)  # <- stationary
    return tf.reduce_sum(z) + coupling * tf.reduce_sum(z[1:] * z[:-1])


def minimize(steps, rate):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            value = energy(angles)
        angles.assign_sub(rate * tape.gradient(value, angles))
    return value


print(minimize(2, 0.1))
# Advice: start from another value
