"""A scale is learned, and the vector is normalized after it."""

import gradtape as tf

scale = tf.Variable(2.0)
vector = tf.constant([1.0, 0.0])
with tf.GradientTape() as tape:
    scaled = scale * vector
    direction = scaled / tf.norm(scaled)  # <- cancelled
    loss = tf.reduce_sum((direction - [0.0, 1.0]) ** 2)
print(tape.gradient(loss, scale))
# Advice: no normalization takes
