"""A variable that is made of a computed tensor."""

import gradtape as tf

w = tf.Variable([1.0, 2.0])
with tf.GradientTape() as tape:
    hidden = tf.Variable(w * 2.0)  # <- state
    loss = tf.reduce_sum(hidden**2)
print(tape.gradient(loss, w))
# Advice: use the tensor itself
