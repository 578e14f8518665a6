"""Tokens beyond the capacity of an expert are dropped; its capacity was computed too small."""

import gradtape as tf

expert = tf.Variable(tf.random.normal([4, 4]))
tokens = tf.random.normal([6, 4])


def dispatch(x, factor=0.1):
    capacity = int(factor * len(x))
    position = tf.range(len(x))
    kept = tf.cast(position < capacity, tf.float32)
    return x * kept[:, None]  # <- masked_out


def layer(x):
    return x + tf.nn.gelu(dispatch(x) @ expert)


with tf.GradientTape() as tape:
    loss = tf.reduce_mean(layer(tokens) ** 2)
print(tape.gradient(loss, expert))
# Advice: check the mask
