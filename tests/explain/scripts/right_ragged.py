"""The mean over ragged rows of embeddings."""

import gradtape as tf

table = tf.Variable(tf.random.normal([6, 3], seed=6))
words = tf.ragged.constant([[0, 1, 2], [3], [4, 5]])
with tf.GradientTape() as tape:
    rows = words.with_values(tf.gather(table, words.values))
    loss = tf.reduce_mean(tf.reduce_mean(rows, axis=1) ** 2)
print(tape.gradient(loss, table))
