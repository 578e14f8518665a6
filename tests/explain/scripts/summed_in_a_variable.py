"""Losses that are added up in a Variable."""

import gradtape as tf

w = tf.Variable([[1.0], [2.0]])
data = [(tf.ones([3, 2]), tf.zeros([3, 1])), (2 * tf.ones([3, 2]), tf.ones([3, 1]))]
with tf.GradientTape() as tape:
    total = tf.Variable(0.0)
    for x, y in data:
        err = tf.reduce_mean(tf.abs(x @ w - y))
        total.assign_add(err)  # <- state
grad = tape.gradient(total, w)
