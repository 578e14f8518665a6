"""A lens is designed by tracing rays; one of them is reflected totally."""

import gradtape as tf

curvature = tf.Variable(0.9)
index = 1.5
heights = tf.constant([0.1, 0.3, 0.5, 0.9])


def refracted(incidence):
    return tf.asin(index * tf.sin(incidence))  # <- nan_origin


def focus():
    incidence = tf.asin(heights * curvature)
    bend = refracted(incidence) - incidence
    return heights / tf.tan(bend)


with tf.GradientTape() as tape:
    spread = tf.math.reduce_variance(focus())
print(spread, tape.gradient(spread, curvature))
