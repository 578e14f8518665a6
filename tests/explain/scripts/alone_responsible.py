"""Noisy-or: how probable is it that a symptom has one cause alone? NaN as soon as a cause is certain."""

import gradtape as tf

logits = tf.Variable([[0.3, -1.0, 30.0], [0.1, 0.5, -0.4]])
seen = tf.constant([[0.0, 0.0, 0.6], [0.3, 0.2, 0.1]])


def alone(p):
    none = tf.reduce_prod(1.0 - p, axis=1, keepdims=True)
    others = none / (1.0 - p)  # <- nan_origin
    return p * others


optimizer = tf.keras.optimizers.Adam(0.1)
with tf.GradientTape() as tape:
    p = tf.sigmoid(logits)
    loss = tf.reduce_mean((alone(p) - seen) ** 2)
gradient = tape.gradient(loss, logits)
print(float(loss), gradient)
# Fix: tf.where(1.0 - p == 0.0
