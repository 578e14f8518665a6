"""The keys that count are masked for every query."""

import gradtape as tf

w = tf.Variable([0.5, 0.2, 0.1])
keep = tf.constant([0.0, 0.0, 0.0])
with tf.GradientTape() as tape:
    scores = tf.exp(w) * keep  # <- zero_factor
    loss = tf.reduce_sum(scores * tf.constant([1.0, 2.0, 3.0]))
print(tape.gradient(loss, w))
# Advice: give keep other values than 0
