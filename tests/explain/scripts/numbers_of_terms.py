"""The loss is a constant that is made of the numbers of its terms."""

import gradtape as tf

w = tf.Variable([1.0, 2.0])
with tf.GradientTape() as tape:
    terms = [(w[i] - i) ** 2 for i in range(2)]
    loss = tf.constant(sum(t.numpy() for t in terms))  # <- left_library
tape.gradient(loss, w)
# Advice: .numpy()
