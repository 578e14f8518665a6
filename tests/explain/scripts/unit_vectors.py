"""A vector of zeros that is normalized."""

import gradtape as tf

emb = tf.Variable([[3.0, 4.0], [0.0, 0.0]])


@tf.function
def cosine(other):
    with tf.GradientTape() as tape:
        unit = emb / tf.norm(emb, axis=1, keepdims=True)  # <- nan_origin
        loss = -tf.reduce_mean(tf.reduce_sum(unit * other, axis=1))
    return tape.gradient(loss, emb)


cosine(tf.ones([2, 2]))
