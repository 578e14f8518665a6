"""A penalty of the deviation of features that are equal."""

import gradtape as tf

features = tf.Variable([[1.0, 2.0], [1.0, 3.0]])
with tf.GradientTape() as tape:
    deviation = tf.math.reduce_std(features, axis=0)  # <- nan_origin
    loss = tf.reduce_mean(tf.nn.relu(1.0 - deviation))
tape.gradient(loss, features)
