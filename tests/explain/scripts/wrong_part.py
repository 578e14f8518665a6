"""The wrong half of joined features is used."""

import gradtape as tf

w = tf.Variable([[1.0, 2.0], [0.5, 0.1]])
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])


def joined(x):
    return tf.concat([x @ w, x], axis=1)


with tf.GradientTape() as tape:
    features = joined(x)
    used = features[:, 2:]  # <- not_selected
    loss = tf.reduce_sum(used**2)
print(tape.gradient(loss, w))
# Advice: use what the target takes
