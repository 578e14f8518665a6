"""A share by divide_no_nan, and a root that tf.where keeps safe."""

import gradtape as tf

w = tf.Variable([0.0, 4.0])
with tf.GradientTape() as tape:
    positive = w > 0.0
    roots = tf.where(positive, tf.sqrt(tf.where(positive, w, 1.0)), 0.0)
    loss = tf.reduce_sum(roots) + tf.reduce_sum(tf.math.divide_no_nan(w, tf.constant([0.0, 2.0])))
print(tape.gradient(loss, w))
