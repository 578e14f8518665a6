"""A soft F1 without a hit."""

import gradtape as tf

w = tf.Variable([[1.0], [1.0]])


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        p = tf.nn.relu(x @ w)
        hits = tf.reduce_sum(y * p)
        precision = hits / (tf.reduce_sum(p) + 1e-7)
        recall = hits / (tf.reduce_sum(y) + 1e-7)
        loss = 1.0 - 2.0 * precision * recall / (precision + recall)  # <- nan_origin
    return tape.gradient(loss, w)


step(tf.constant([[1.0, 2.0], [-1.0, -1.0]]), tf.constant([[0.0], [1.0]]))
