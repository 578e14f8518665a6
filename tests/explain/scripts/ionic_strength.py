"""Activity coefficients by Debye and Hückel; the salt is fitted from pure water on."""

import gradtape as tf

concentrations = tf.Variable([0.0, 0.0, 0.0])
charges = tf.constant([1.0, -1.0, 2.0])


def log_activity(c):
    strength = 0.5 * tf.reduce_sum(c * charges**2)
    return -0.509 * charges**2 * tf.sqrt(strength)  # <- inf_origin


def fit(measured, steps=2, rate=1e-3):
    for _ in range(steps):
        with tf.GradientTape() as tape:
            error = tf.reduce_sum((log_activity(concentrations) - measured) ** 2)
        concentrations.assign_sub(rate * tape.gradient(error, concentrations))


fit(tf.constant([-0.05, -0.05, -0.2]))
print(concentrations)
# Fix: tf.maximum(strength, 0.0) + 1e-07
