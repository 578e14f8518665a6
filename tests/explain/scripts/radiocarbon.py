"""The half-life of an isotope is fitted; ages are in seconds, the half-life in days."""

import gradtape as tf

half_life = tf.Variable(8.0, name="half_life")
ages = tf.constant([86400.0, 172800.0, 604800.0])
counts = tf.constant([917.0, 841.0, 545.0])


def activity(start):
    return start * 0.5 ** (ages / half_life)  # <- underflow


def fit_step(optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(activity(1000.0) - counts))
    gradient = tape.gradient(loss, half_life)
    optimizer.apply_gradients([(gradient, half_life)])
    return gradient


print(fit_step(tf.keras.optimizers.SGD(1e-3)))
# Advice: look at the size, or the unit
