"""The gradient is clipped on its way back by a custom gradient."""

import gradtape as tf


@tf.custom_gradient
def clipped(x):
    def backward(upstream):
        return tf.clip_by_norm(upstream, 0.5)

    return tf.identity(x), backward


embedding = tf.keras.layers.Embedding(5, 3)
out = tf.keras.layers.Dense(2)


@tf.function
def step(words, labels):
    with tf.GradientTape() as tape:
        h = clipped(tf.reduce_mean(embedding(words), axis=1))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, out(h)))
    return tape.gradient(loss, embedding.trainable_variables + out.trainable_variables)


step(tf.constant([[0, 1], [2, 3]]), tf.constant([0, 1]))
