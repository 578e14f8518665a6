"""The logarithm of a softmax of the line above."""

import gradtape as tf

w = tf.Variable([[200.0, 0.0, -100.0]])
x, y = tf.constant([[1.0], [2.0]]), tf.one_hot([1, 2], 3)
with tf.GradientTape() as tape:
    probs = tf.nn.softmax(x @ w)
    loss = -tf.reduce_mean(tf.reduce_sum(y * tf.math.log(probs), axis=1))  # <- nan_origin
loss, tape.gradient(loss, w)
