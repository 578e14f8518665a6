"""Depots are placed near their customers, by the haversine distance; one depot starts at a customer."""

import math

import gradtape as tf

customers = tf.constant([[52.5, 13.4], [48.1, 11.6], [53.6, 10.0], [50.1, 8.7]]) * (math.pi / 180.0)
depots = tf.Variable(tf.gather(customers, [0]) + tf.constant([[0.0, 0.0]]))
optimizer = tf.keras.optimizers.SGD(1e-3)


def haversine(a, b):
    latitude, longitude = tf.unstack((a[:, None] - b[None]) / 2.0, axis=-1)
    h = tf.sin(latitude) ** 2 + tf.cos(a[:, None, 0]) * tf.cos(b[None, :, 0]) * tf.sin(longitude) ** 2
    return 2.0 * 6371.0 * tf.asin(tf.sqrt(h))  # <- nan_origin


with tf.GradientTape() as tape:
    distances = haversine(depots, customers)
    loss = tf.reduce_mean(tf.reduce_min(distances, axis=0))
print(loss, tape.gradient(loss, depots))
# Fix: tf.maximum(h, 1e-12)
