"""A penalty that tf.cond leaves out, in eager code."""

import gradtape as tf

w, strength = tf.Variable([1.0, 2.0]), tf.Variable(0.3)
epoch = tf.constant(3)
with tf.GradientTape() as tape:
    data = tf.reduce_sum((w - 1.0) ** 2)
    loss = tf.cond(epoch > 5, lambda: data + strength * tf.reduce_sum(tf.abs(w)), lambda: data)  # <- branch_not_taken
print(tape.gradient(loss, [w, strength]))
# Advice: make `epoch > 5` true there
