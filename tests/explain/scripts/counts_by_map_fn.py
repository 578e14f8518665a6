"""Scores of rows by tf.map_fn, which are made integers."""

import gradtape as tf

w = tf.Variable([[0.4], [1.3]])


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        rates = tf.exp(x @ w)[:, 0]
        counts = tf.map_fn(lambda r: tf.cast(r, tf.int32), rates, fn_output_signature=tf.int32)  # <- not_floating
        loss = tf.reduce_mean((tf.cast(counts, tf.float32) - y) ** 2)
    return tape.gradient(loss, w)


step(tf.constant([[1.0, 0.5], [0.2, 1.0]]), tf.constant([3.0, 4.0]))
# Advice: and the dtype of the result
