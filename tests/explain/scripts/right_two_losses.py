"""Two losses of one persistent tape."""

import gradtape as tf

shared, left, right = tf.Variable([1.0, 2.0]), tf.Variable(3.0), tf.Variable(4.0)
with tf.GradientTape(persistent=True) as tape:
    one = tf.reduce_sum(shared * left)
    two = tf.reduce_sum(shared**2) * right
tape.gradient(one, [shared, left])
tape.gradient(two, [shared, right])
