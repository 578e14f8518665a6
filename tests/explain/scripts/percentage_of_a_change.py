"""A percentage error of changes, of which some are negative and one is zero."""

import gradtape as tf

w = tf.Variable([0.5, 0.5, 0.5, 0.5])
change = tf.constant([-2.0, 1.0, 0.0, -0.5])
with tf.GradientTape() as tape:
    predicted = w * 2.0
    loss = tf.reduce_mean(tf.abs((predicted - change) / change))  # <- inf_origin
print(tape.gradient(loss, w))
# Fix: divide_no_nan
