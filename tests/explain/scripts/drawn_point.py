"""A position that is cast to the place of a pixel."""

import gradtape as tf

position = tf.Variable([3.4, 5.6])
canvas = tf.zeros([8, 8])
goal = tf.tensor_scatter_nd_update(canvas, [[2, 2]], [1.0])
opt = tf.keras.optimizers.Adam(0.1)
for _ in range(2):
    with tf.GradientTape() as tape:
        cell = tf.cast(position, tf.int32)  # <- not_floating
        drawn = tf.tensor_scatter_nd_update(canvas, cell[tf.newaxis], [1.0])
        loss = tf.reduce_mean(tf.square(drawn - goal))
    grads = tape.gradient(loss, [position])
# Advice: interpolate
