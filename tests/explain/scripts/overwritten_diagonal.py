"""A covariance whose learned diagonal is overwritten."""

import gradtape as tf

scale = tf.Variable([2.0, 3.0])
with tf.GradientTape() as tape:
    matrix = tf.linalg.diag(scale) + 0.1
    matrix = tf.linalg.set_diag(matrix, tf.ones([2]))  # <- not_selected
    loss = tf.reduce_sum(matrix**2)
tape.gradient(loss, scale)
# Advice: use what the target takes
