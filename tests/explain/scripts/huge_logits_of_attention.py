"""Attention without the root of the width, of large keys."""

import gradtape as tf

query = tf.Variable([[30.0, -20.0]])
keys, values = tf.constant([[20.0, 5.0], [1.0, 40.0], [10.0, 3.0]]), tf.constant([[1.0], [2.0], [3.0]])
with tf.GradientTape() as tape:
    weights = tf.nn.softmax(query @ tf.transpose(keys))  # <- saturated
    loss = tf.reduce_sum(weights @ values)
print(tape.gradient(loss, query))
# Advice: scale its input down
