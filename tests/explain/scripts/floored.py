"""Probabilities that are thresholded by tf.floor."""

import gradtape as tf

w, b = tf.Variable([[0.4], [-0.3]]), tf.Variable([0.1])
x, truth = tf.constant([[1.0, 2.0], [0.5, -1.0]]), tf.constant([[1.0], [0.0]])


@tf.function
def step():
    with tf.GradientTape() as tape:
        probability = tf.sigmoid(x @ w + b)
        label = tf.floor(probability + 0.5)  # <- not_differentiable
        loss = tf.reduce_mean(tf.abs(truth - label))
    return tape.gradient(loss, [w, b])


step()
