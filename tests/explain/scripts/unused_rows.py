"""A row of a table that the batch has no word for."""

import gradtape as tf

rows = [tf.Variable([1.0, 2.0]), tf.Variable([0.5, 0.5]), tf.Variable([3.0, 1.0])]


@tf.function
def step(words):
    with tf.GradientTape() as tape:
        table = tf.stack(rows)
        loss = tf.reduce_sum(tf.gather(table, words) ** 2)  # <- not_selected
    return tape.gradient(loss, rows)


step(tf.constant([0, 1, 1]))
# Advice: use what the target takes
