"""A second derivative whose first was taken outside."""

import gradtape as tf

x = tf.Variable([1.0, 2.0])
with tf.GradientTape() as outer, tf.GradientTape() as inner:
    y = tf.reduce_sum(x**3)
first = inner.gradient(y, x)  # <- other_tape
outer.gradient(first, x)
