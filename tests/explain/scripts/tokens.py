"""The gradient of tokens, which are places in a table."""

import gradtape as tf

embedding = tf.keras.layers.Embedding(20, 4)
head = tf.keras.layers.Dense(1)
tokens = tf.constant([[1, 5, 7, 2]])  # <- not_floating
with tf.GradientTape() as tape:
    tape.watch(tokens)
    vectors = embedding(tokens)
    score = head(tf.reduce_mean(vectors, axis=1))
tape.gradient(score, tokens)
# Advice: the gradient of what is taken
