"""The weights are converted to a tensor before the tape."""

import gradtape as tf

w = tf.Variable([[1.0], [2.0]])
x = tf.ones([3, 2])
weights = tf.convert_to_tensor(w)  # <- wrong_object
with tf.GradientTape() as tape:
    loss = tf.reduce_sum((x @ weights) ** 2)
tape.gradient(loss, w)
