"""A contrastive loss of pairs that are far enough apart."""

import gradtape as tf

w = tf.Variable([[3.0, 0.0], [0.0, 3.0]])


@tf.function
def step(a, b):
    with tf.GradientTape() as tape:
        distance = tf.norm(a @ w - b @ w, axis=1)
        loss = tf.reduce_mean(tf.square(tf.maximum(1.0 - distance, 0.0)))  # <- clipped
    return tape.gradient(loss, w)


step(tf.constant([[1.0, 0.0]]), tf.constant([[0.0, 1.0]]))
# Advice: a margin that they do not meet
