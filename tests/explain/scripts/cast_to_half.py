"""A large activation that is cast to float16."""

import gradtape as tf

w = tf.Variable([300.0, 400.0])
with tf.GradientTape() as tape:
    energy = tf.reduce_sum(w * w)
    half = tf.cast(energy, tf.float16)  # <- inf_origin
    loss = half * half
tape.gradient(loss, w)
# Advice: loss scaling
