"""The arguments of the gradient call are the wrong way round."""

import gradtape as tf

w = tf.Variable([1.0, 2.0])  # <- unused
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(w**2)
gradient = tape.gradient(w, loss)
print(gradient)
# Advice: `tape.gradient(loss, w)`
