"""A cost is computed once, and minimized by a lambda that gives it."""

import gradtape as tf

counts = tf.Variable([1.0, 2.0, 3.0])
cost = -tf.reduce_mean(tf.math.log(counts))  # <- outside_tape
optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.5)
optimizer.minimize(lambda: cost, var_list=[counts])
# Advice: in the function that `optimizer.minimize` is given
