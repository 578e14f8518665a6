"""A custom gradient that forgets its second argument."""

import gradtape as tf


@tf.custom_gradient
def scaled(x, scale):
    y = x * scale

    def backward(upstream):
        return upstream * scale, None

    return y, backward


x, scale = tf.Variable([1.0, 2.0]), tf.Variable([0.5, 3.0])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(scaled(x, scale) ** 2)  # <- not_differentiable
print(tape.gradient(loss, [x, scale]))
# Advice: return a gradient
