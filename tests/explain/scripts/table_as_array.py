"""A lookup in a table that is given as an array."""

import gradtape as tf

table = tf.Variable(tf.random.normal([5, 2], seed=2), name="words")
out = tf.keras.layers.Dense(1)


def encode(words):
    return tf.reduce_mean(tf.nn.embedding_lookup(table.numpy(), words), axis=1)  # <- left_library


with tf.GradientTape() as tape:
    loss = tf.reduce_mean((out(encode(tf.constant([[0, 1], [2, 4]]))) - 1.0) ** 2)
print(tape.gradient(loss, [table, *out.trainable_variables]))
