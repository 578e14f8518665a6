"""A row of scores without a key."""

import gradtape as tf

query = tf.keras.layers.Dense(4)


@tf.function
def attend(x, lengths):
    with tf.GradientTape() as tape:
        q = query(x)
        scores = tf.matmul(q, x, transpose_b=True)
        keep = tf.sequence_mask(lengths, 3)[:, None, :]
        scores = tf.where(keep, scores, float("-inf"))
        weights = tf.nn.softmax(scores, axis=-1)  # <- nan_origin
        loss = tf.reduce_mean(tf.matmul(weights, x) ** 2)
    return loss, tape.gradient(loss, query.trainable_variables)


attend(tf.random.stateless_normal([2, 3, 4], [0, 1]), tf.constant([2, 0]))
# Advice: mask with a large negative number
