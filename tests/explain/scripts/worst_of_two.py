"""Python's max of two losses."""

import gradtape as tf

left, right = tf.Variable([1.0, 2.0]), tf.Variable([0.5, 0.1])
x = tf.constant([1.0, 3.0])


def loss_of(w):
    return tf.reduce_mean((w * x - 1.0) ** 2)


with tf.GradientTape() as tape:
    loss = max(loss_of(left), loss_of(right))  # <- not_differentiable
print(tape.gradient(loss, [left, right]))
# Advice: a soft weight
