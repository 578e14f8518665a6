"""A decoder that chooses by top_k and embeds what it chose."""

import gradtape as tf

w = tf.Variable(tf.random.normal([3, 5], seed=1))
table = tf.random.normal([5, 4], seed=2)


def decode(x):
    _values, places = tf.math.top_k(x @ w, k=2)  # <- not_floating
    return tf.gather(table, places)


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(decode(tf.ones([2, 3])) ** 2)
print(tape.gradient(loss, w))
# Advice: take the values that top_k gives
