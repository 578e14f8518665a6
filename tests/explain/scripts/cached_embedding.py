"""Embeddings are cached by a decorator, and were used once to look at them."""

import functools

import gradtape as tf

table = tf.Variable(tf.random.normal([4, 3], seed=1))


@functools.lru_cache(None)
def embedding(word):
    return tf.nn.l2_normalize(table[word], 0)  # <- outside_tape


print(embedding(0), embedding(1))
with tf.GradientTape() as tape:
    loss = -tf.reduce_sum(embedding(0) * embedding(1))
print(tape.gradient(loss, table))
# Advice: without `@functools.lru_cache
