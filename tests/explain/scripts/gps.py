"""The distance of points, some of which meet."""

import gradtape as tf

offset = tf.Variable([0.0, 0.0])
here, there = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1.0, 2.0], [3.5, 4.0]])
with tf.GradientTape() as tape:
    delta = here + offset - there
    loss = tf.reduce_mean(tf.sqrt(tf.square(delta[:, 0]) + tf.square(delta[:, 1])))  # <- nan_origin
tape.gradient(loss, offset)
