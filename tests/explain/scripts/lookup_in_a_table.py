"""A table that is looked up by tf.searchsorted."""

import gradtape as tf

edges = tf.constant([0.0, 1.0, 2.0, 3.0])
table = tf.constant([0.0, 10.0, 40.0, 90.0, 160.0])
speed = tf.Variable([0.5, 2.5])
with tf.GradientTape() as tape:
    places = tf.searchsorted(edges, speed)  # <- not_differentiable
    drag = tf.gather(table, places)
    cost = tf.reduce_sum(drag)
tape.gradient(cost, speed)
# Advice: interpolate
